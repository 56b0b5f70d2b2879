package report

import (
	"fmt"
	"io"
	"strings"

	"linerate/internal/model"
)

// Markdown writes the outcome for an issue or a wiki page (CommonMark with
// tables); of a study the white paper. samples and facts are as for HTML and bear
// on a study only. It fails only when w does.
func Markdown(w io.Writer, r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) error {
	if r.Study != nil {
		return paperMarkdown(w, r, samples, facts)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	v := r.Verdict
	line("## %s\n", md(headline(v)))
	for _, t := range headOf(r).Tiles {
		line("- %s: **%s** %s", md(t.Label), md(t.Value), md(t.Note))
	}
	markdownFix(line, r)
	if len(v.Evidence) > 0 {
		line("\n| observation | value | host | n |\n|---|---:|---|---:|")
	}
	for _, e := range v.Evidence {
		host := e.Host
		if e.Scope != "" {
			host += " (scope: " + e.Scope + ")"
		}
		line("| %s | %s | %s | %d |", md(e.What), md(evidenceValue(e)), md(host), e.N)
	}
	for _, c := range laterCauses(v) {
		line("\nThen: %s %s, %s: %s (confidence %s).", md(c.Limiter), md(c.Place), md(c.From), md(c.Evidence), md(c.Confidence))
	}
	markdownLadder(line, r)
	markdownSteps(line, r)
	if r.Proof != nil {
		line("\nProof: %s (by %s). %s", md(proofSentence(r.Proof)), md(r.Proof.By), md(controlSentence(r.Proof)))
	}
	for _, d := range doubts(r) {
		line("\n> %s %s %s", md(d.What), md(d.Evidence), md(d.Next))
	}
	line("\nlinerate %s, `%s`, %s", md(r.Build), code("linerate "+r.Command), moment(r.Started))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func markdownFix(line func(string, ...any), r *model.Results) {
	f := fixOf(r)
	if f.Setting != "" {
		line("\n**Fix** on %s: `%s` from `%s` to `%s`.", md(f.Host), code(f.Setting), code(f.From), code(f.To))
	} else {
		line("\n**Fix**: %s.", md(f.Title))
	}
	line("%s %s", md(f.Advice), md(f.State))
}

func markdownLadder(line func(string, ...any), r *model.Results) {
	if len(r.Ladder) > 0 {
		line("\n| rung | measured | predicted | ceiling | share |\n|---|---:|---:|---:|---:|")
	}
	for _, rung := range r.Ladder {
		if !rung.Seen {
			line("| %s | not seen | %s | | %s |", md(rung.Rung), predictedCell(rung), md(rung.How))
			continue
		}
		share := ""
		if s, ok := shareOf(rung); ok {
			share = percent(s)
		}
		line("| %s | %s | %s | %s | %s |", md(rung.Rung), rate(rung.Measured), predictedCell(rung), rate(rung.Ceiling), share)
	}
}

func predictedCell(r model.Rung) string {
	if number(r.Predicted) == nil {
		return ""
	}
	return rate(r.Predicted)
}

// md escapes a text for a Markdown line or table cell.
func md(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "&", "&amp;", "`", "\\`", "*", `\*`, "_", `\_`,
		"[", `\[`, "]", `\]`, "#", `\#`).Replace(plain(s))
}

// code makes a text safe inside a code span of one backtick.
func code(s string) string { return strings.ReplaceAll(plain(s), "`", "'") }
