package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
	"unicode"

	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// Check is what looking at hosts found, as `linerate check --json` prints it.
type Check struct {
	V     int         `json:"v"`
	Hosts []HostCheck `json:"hosts"`
	Pairs []Pair      `json:"pairs"`
}

// Pair is two hosts and the path between their data addresses. What was not
// measured is null; CouldNotSee says why.
type Pair struct {
	A           string         `json:"a"`
	B           string         `json:"b"`
	AInterface  string         `json:"a_interface"`
	BInterface  string         `json:"b_interface"`
	AAddress    string         `json:"a_address"`
	BAddress    string         `json:"b_address"`
	RTT         *int64         `json:"rtt_ns"` // the smallest
	RTTMedian   *int64         `json:"rtt_median_ns"`
	RTTMax      *int64         `json:"rtt_max_ns"`
	RTTs        int            `json:"rtt_n"`
	MTUAToB     *int           `json:"path_mtu_a_to_b"`
	MTUBToA     *int           `json:"path_mtu_b_to_a"`
	Datagrams   int            `json:"probe_datagrams"`
	Bytes       int            `json:"probe_bytes"`
	Findings    []CheckFinding `json:"findings"`
	CouldNotSee []model.Blind  `json:"could_not_see"`
}

// Title names both hosts.
func (p Pair) Title() string { return p.A + " ↔ " + p.B }

// Line says in words which way was looked at and what it carries.
func (p Pair) Line() string {
	if p.AAddress == "" {
		return "no path"
	}
	parts := []string{fmt.Sprintf("%s %s ↔ %s %s", p.AInterface, p.AAddress, p.BInterface, p.BAddress)}
	if p.RTT != nil {
		ns := func(v *int64) time.Duration { return time.Duration(*v).Round(time.Microsecond) }
		parts = append(parts, fmt.Sprintf("round trip %v (least of %d; median %v, most %v)", ns(p.RTT), p.RTTs, ns(p.RTTMedian), ns(p.RTTMax)))
	}
	mtu := func(v *int) string {
		if v == nil {
			return "not known"
		}
		return fmt.Sprint(*v)
	}
	if there, back := mtu(p.MTUAToB), mtu(p.MTUBToA); there == back {
		parts = append(parts, "path MTU "+there+" both ways")
	} else {
		parts = append(parts, fmt.Sprintf("path MTU %s there, %s back", there, back))
	}
	return strings.Join(append(parts, fmt.Sprintf("probed with %d datagrams, %d bytes", p.Datagrams, p.Bytes)), ", ")
}

// HostCheck is one host: either Error says why nothing is known of it, or Facts
// are there.
type HostCheck struct {
	Name  string       `json:"name"`
	Error string       `json:"error,omitempty"`
	Facts *model.Facts `json:"facts"`
	// Watched is the time between two looks; 0: there was one. In nanoseconds.
	Watched     time.Duration  `json:"watched_ns,omitempty"`
	Findings    []CheckFinding `json:"findings"`
	CouldNotSee []model.Blind  `json:"could_not_see"`
}

// About says which host this is, in a line: kernel, CPUs, and the interfaces
// that carry something.
func (h HostCheck) About() string {
	f := h.Facts
	if f == nil {
		return ""
	}
	parts := []string{strings.TrimSpace("Linux " + f.Kernel), fmt.Sprintf("%d CPUs", len(f.CPUs))}
	for _, n := range f.NICs {
		if !n.Up || n.Name == "lo" || len(n.Addrs) == 0 && !n.Physical() {
			continue
		}
		what := n.Name
		if speed, ok := n.Speed.Get(); ok {
			what += " " + speed.String()
		}
		parts = append(parts, fmt.Sprintf("%s MTU %d", what, n.MTU))
	}
	return strings.Join(parts, ", ")
}

// Count words how many findings there are of each severity, the worst first.
func (h HostCheck) Count() string { return countFindings(h.Findings) }

func countFindings(found []CheckFinding) string {
	var parts []string
	for _, s := range rules.Severities() {
		n := 0
		for _, f := range found {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}

// CheckFinding is a finding with the reason why its rule exists.
type CheckFinding struct {
	Rule     string        `json:"rule"`
	Severity string        `json:"severity"`
	Title    string        `json:"title"`
	Observed string        `json:"observed"`
	Why      string        `json:"why"`
	Bound    *unit.BitRate `json:"bound_bps"`
	// Limiters are what linerate explain may name where this is what binds.
	Limiters []model.LimiterID `json:"limiters,omitempty"`
	Fix      string            `json:"fix"`
	Sources  []string          `json:"sources"`
}

// NewCheckFinding adds to a finding why it matters.
func NewCheckFinding(f model.Finding, why string) CheckFinding {
	return CheckFinding{f.Rule, f.Severity, f.Title, f.Observed, why, f.Bound, f.Limiters, f.Fix, strings.Split(f.Source, "; ")}
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

// heading is the title of the whole.
func (c Check) heading() string {
	if len(c.Hosts) == 1 {
		return "What is wrong with this host"
	}
	return "What is wrong with these hosts"
}

// CheckMarkdown writes the check as Markdown.
func CheckMarkdown(w io.Writer, c Check) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", c.heading())
	for _, h := range c.Hosts {
		fmt.Fprintf(&b, "\n## %s\n", escapeMarkdown(h.Name))
		if h.Error != "" {
			fmt.Fprintf(&b, "\nNot looked at: %s\n", escapeMarkdown(h.Error))
			continue
		}
		fmt.Fprintf(&b, "\n%s\n\n%s\n", escapeMarkdown(h.About()), h.Count())
		markdownFindings(&b, h.Findings, h.CouldNotSee)
	}
	for _, p := range c.Pairs {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", escapeMarkdown(p.Title()), escapeMarkdown(p.Line()))
		if len(p.Findings) == 0 {
			b.WriteString("\nNothing found.\n")
		}
		markdownFindings(&b, p.Findings, p.CouldNotSee)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownFindings(b *strings.Builder, found []CheckFinding, blind []model.Blind) {
	for _, f := range found {
		fmt.Fprintf(b, "\n### %s: %s\n\n", f.Severity, escapeMarkdown(f.Title))
		for _, row := range [][2]string{{"Limit", f.Limit()}, {"Seen", f.Observed}, {"Why", f.Why}, {"Fix", f.Fix}, {"Source", f.Source()}, {"Rule", f.Rule}} {
			if row[1] != "" {
				fmt.Fprintf(b, "- **%s:** %s\n", row[0], escapeMarkdown(row[1]))
			}
		}
	}
	if len(blind) > 0 {
		b.WriteString("\n### Not seen\n\n")
	}
	for _, n := range blind {
		fmt.Fprintf(b, "- %s (%s): %s\n", escapeMarkdown(n.What), escapeMarkdown(n.WouldShow), escapeMarkdown(n.How))
	}
}

func escapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`, "|", `\|`, "#", `\#`).Replace(Printable(s))
}

const checkPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>linerate check{{range .Hosts}} {{p .Name}}{{end}}</title>
<style>
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}.about{margin:.2rem 0;color:#555}
h2{border-bottom:1px solid #ccc;margin-top:2rem}article{border-left:4px solid #888;padding:.1rem 1rem;margin:1rem 0;break-inside:avoid}
.high{border-color:#b3261e}.medium{border-color:#b26a00}.low{border-color:#2f6fab}
dl{display:grid;grid-template-columns:5rem 1fr;gap:.1rem .8rem;margin:.3rem 0}dt{color:#555}dd{margin:0;overflow-wrap:anywhere}
h3{margin:.3rem 0;font-size:1rem}table{border-collapse:collapse}td{padding:.2rem 1.5rem .2rem 0;vertical-align:top}
@media(max-width:30rem){body{margin:1rem auto}h1{font-size:1.5rem}dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.3rem}}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}h2{border-color:#444}dt,.about{color:#999}a{color:#8ab4f8}}
</style>
<h1>{{heading}}</h1>
{{if gt (len .Hosts) 1}}<table>{{range $i, $h := .Hosts}}<tr><td><a href="#host{{$i}}">{{p .Name}}</a></td><td>{{if .Error}}not looked at{{else}}{{.Count}}{{end}}</td></tr>
{{end}}</table>
{{end}}{{range $i, $h := .Hosts}}<h2 id="host{{$i}}">{{p .Name}}</h2>
{{if .Error}}<p>Not looked at: {{p .Error}}</p>{{else}}<p class="about">{{p .About}}</p><p><strong>{{.Count}}</strong></p>
{{template "found" .}}{{end}}
{{end}}{{range .Pairs}}<h2>{{p .Title}}</h2><p>{{p .Line}}</p>{{if not .Findings}}<p>Nothing found.</p>{{end}}{{template "found" .}}
{{end}}</html>
{{define "found"}}
{{range .Findings}}<article class="{{.Severity}}"><h3>{{.Severity}}: {{p .Title}}</h3>
<dl>{{with .Limit}}<dt>limit</dt><dd>{{.}}</dd>{{end}}<dt>seen</dt><dd>{{p .Observed}}</dd><dt>why</dt><dd>{{.Why}}</dd><dt>fix</dt><dd>{{p .Fix}}</dd><dt>source</dt><dd>{{.Source}}</dd><dt>rule</dt><dd>{{.Rule}}</dd></dl></article>
{{end}}{{if .CouldNotSee}}<h3>Not seen</h3><ul>{{range .CouldNotSee}}<li>{{p .What}} ({{p .WouldShow}}): {{p .How}}</li>{{end}}</ul>{{end}}{{end}}
`

// CheckHTML writes the check as one self-contained page.
func CheckHTML(w io.Writer, c Check) error {
	t, err := template.New("check").Funcs(template.FuncMap{"p": Printable, "heading": c.heading}).Parse(checkPage)
	if err != nil {
		return fmt.Errorf("write the check as HTML: %w", err)
	}
	return t.Execute(w, c)
}

// Count words how many findings there are of each severity, the worst first.
func (p Pair) Count() string { return countFindings(p.Findings) }
