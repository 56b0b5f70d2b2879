package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Check is what looking at hosts found, as `linerate check --json` prints it.
type Check struct {
	V     int         `json:"v"`
	Hosts []HostCheck `json:"hosts"`
	Pairs []Pair      `json:"pairs"`
}

// Pair is kept for findings about two hosts; there are none yet.
type Pair struct{}

// HostCheck is one host: either Error says why nothing is known of it, or Facts
// are there.
type HostCheck struct {
	Name        string         `json:"name"`
	Error       string         `json:"error,omitempty"`
	Facts       *model.Facts   `json:"facts"`
	Findings    []CheckFinding `json:"findings"`
	CouldNotSee []model.Blind  `json:"could_not_see"`
}

// CheckFinding is a finding with the reason why its rule exists.
type CheckFinding struct {
	Rule     string        `json:"rule"`
	Severity string        `json:"severity"`
	Title    string        `json:"title"`
	Observed string        `json:"observed"`
	Why      string        `json:"why"`
	Bound    *unit.BitRate `json:"bound_bps"`
	Fix      string        `json:"fix"`
	Sources  []string      `json:"sources"`
}

// NewCheckFinding adds to a finding why it matters.
func NewCheckFinding(f model.Finding, why string) CheckFinding {
	return CheckFinding{f.Rule, f.Severity, f.Title, f.Observed, why, f.Bound, f.Fix, strings.Split(f.Source, "; ")}
}

// Limit is the bound in words, as "at most 15.8 Gbit/s"; empty without one.
func (f CheckFinding) Limit() string {
	if f.Bound == nil {
		return ""
	}
	return "at most " + f.Bound.String()
}

// Source lists where it is written.
func (f CheckFinding) Source() string { return strings.Join(f.Sources, "; ") }

// Printable replaces what would move a terminal's cursor or hide in a text: a
// recorded host may name its interfaces as it likes.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) && r != ' ' {
			return '?'
		}
		return r
	}, s)
}

// CheckMarkdown writes the check as Markdown.
func CheckMarkdown(w io.Writer, c Check) error {
	var b strings.Builder
	b.WriteString("# What is wrong with these hosts\n")
	for _, h := range c.Hosts {
		fmt.Fprintf(&b, "\n## %s\n", escapeMarkdown(h.Name))
		if h.Error != "" {
			fmt.Fprintf(&b, "\nNot looked at: %s\n", escapeMarkdown(h.Error))
			continue
		}
		if len(h.Findings) == 0 {
			b.WriteString("\nNothing found.\n")
		}
		for _, f := range h.Findings {
			fmt.Fprintf(&b, "\n### %s: %s\n\n", f.Severity, escapeMarkdown(f.Title))
			for _, row := range [][2]string{{"Limit", f.Limit()}, {"Seen", f.Observed}, {"Why", f.Why}, {"Fix", f.Fix}, {"Source", f.Source()}, {"Rule", f.Rule}} {
				if row[1] != "" {
					fmt.Fprintf(&b, "- **%s:** %s\n", row[0], escapeMarkdown(row[1]))
				}
			}
		}
		if len(h.CouldNotSee) > 0 {
			b.WriteString("\n### Not seen\n\n")
		}
		for _, n := range h.CouldNotSee {
			fmt.Fprintf(&b, "- %s (%s): %s\n", escapeMarkdown(n.What), escapeMarkdown(n.WouldShow), escapeMarkdown(n.How))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`, "|", `\|`, "#", `\#`).Replace(Printable(s))
}

const checkPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>linerate check</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h2{border-bottom:1px solid #ccc;margin-top:2rem}article{border-left:4px solid #888;padding:.1rem 1rem;margin:1rem 0;break-inside:avoid}
.high{border-color:#b3261e}.medium{border-color:#b26a00}.low{border-color:#2f6fab}
dl{display:grid;grid-template-columns:5rem 1fr;gap:.1rem .8rem;margin:.3rem 0}dt{color:#555}dd{margin:0;overflow-wrap:anywhere}
h3{margin:.3rem 0;font-size:1rem}
</style>
<h1>What is wrong with these hosts</h1>
{{range .Hosts}}<h2>{{p .Name}}</h2>
{{if .Error}}<p>Not looked at: {{p .Error}}</p>{{else}}{{if not .Findings}}<p>Nothing found.</p>{{end}}
{{range .Findings}}<article class="{{.Severity}}"><h3>{{.Severity}}: {{p .Title}}</h3>
<dl>{{with .Limit}}<dt>limit</dt><dd>{{.}}</dd>{{end}}<dt>seen</dt><dd>{{p .Observed}}</dd><dt>why</dt><dd>{{.Why}}</dd><dt>fix</dt><dd>{{p .Fix}}</dd><dt>source</dt><dd>{{.Source}}</dd><dt>rule</dt><dd>{{.Rule}}</dd></dl></article>
{{end}}{{if .CouldNotSee}}<h3>Not seen</h3><ul>{{range .CouldNotSee}}<li>{{p .What}} ({{p .WouldShow}}): {{p .How}}</li>{{end}}</ul>{{end}}{{end}}
{{end}}</html>
`

// CheckHTML writes the check as one self-contained page.
func CheckHTML(w io.Writer, c Check) error {
	t, err := template.New("check").Funcs(template.FuncMap{"p": Printable}).Parse(checkPage)
	if err != nil {
		return fmt.Errorf("write the check as HTML: %w", err)
	}
	return t.Execute(w, c)
}
