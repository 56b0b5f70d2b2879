package cli

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"linerate/internal/app/check"
	"linerate/internal/model"
	"linerate/internal/report"
)

// checkText is the answer for people.
func checkText(env *environment, c report.Check) string {
	var b strings.Builder
	for i, h := range c.Hosts {
		if i > 0 {
			b.WriteString("\n")
		}
		if h.Error != "" {
			fmt.Fprintf(&b, "%s  not looked at: %s\n", report.Printable(h.Name), report.Printable(h.Error))
			continue
		}
		for i, line := range wrapWords(report.Printable(h.Name+": "+h.About()), env.width-2) {
			b.WriteString([]string{"", "  "}[min(i, 1)] + line + "\n")
		}
		fmt.Fprintf(&b, "%s%s\n", h.Count(), watchedFor(h))
		for _, f := range h.Findings {
			writeFinding(&b, env, f)
		}
		writeBlind(&b, env, h.CouldNotSee)
	}
	for _, p := range c.Pairs {
		b.WriteString("\n")
		for i, line := range wrapWords(report.Printable(p.Title()+": "+p.Line()), env.width-2) {
			b.WriteString([]string{"", "  "}[min(i, 1)] + line + "\n")
		}
		fmt.Fprintf(&b, "%s\n", p.Count())
		for _, f := range p.Findings {
			writeFinding(&b, env, f)
		}
		writeBlind(&b, env, p.CouldNotSee)
	}
	return b.String()
}

// watchedFor says that counters were watched.
func watchedFor(h report.HostCheck) string {
	if h.Watched <= 0 {
		return ""
	}
	return fmt.Sprintf("; counters watched for %v", h.Watched.Round(100*time.Millisecond))
}

func writeFinding(b *strings.Builder, env *environment, f report.CheckFinding) {
	title := f.Title
	if f.Bound != nil {
		title += " (" + f.Limit() + ")"
	}
	lines := wrapWords(report.Printable(title), max(env.width-10, 40))
	fmt.Fprintf(b, "\n%s%s\n", paint(env, f.Severity), strings.Join(lines, "\n"+strings.Repeat(" ", 8)))
	for _, row := range [][2]string{{"seen", f.Observed}, {"why", f.Why}, {"fix", f.Fix}, {"source", f.Source() + " [" + f.Rule + "]"}} {
		for i, line := range wrapWords(report.Printable(row[1]), max(env.width-18, 40)) {
			fmt.Fprintf(b, "        %-8s%s\n", []string{row[0], ""}[min(i, 1)], line)
		}
	}
}

// severityColours are the SGR codes of the severities, worst first; the last has none.
var severityColours = [...]string{"1;31", "33", "36"}

// paint is the severity in eight columns, coloured on a terminal.
func paint(env *environment, severity string) string {
	text := fmt.Sprintf("%-8s", severity)
	code := ""
	if i := slices.Index(check.Severities(), severity); i >= 0 && i < len(severityColours) {
		code = severityColours[i]
	}
	if !env.color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func writeBlind(b *strings.Builder, env *environment, list []model.Blind) {
	if len(list) > 0 {
		b.WriteString("\nNot seen\n")
	}
	for _, n := range list {
		for i, line := range wrapWords(report.Printable(fmt.Sprintf("%s (%s): %s", n.What, n.WouldShow, n.How)), max(env.width-6, 40)) {
			b.WriteString([]string{"  - ", "    "}[min(i, 1)] + line + "\n")
		}
	}
}

// printRules lists the rules, for people by name.
func printRules(env *environment) error {
	list := check.Rules()
	if env.json {
		return printJSON(env, map[string]any{"v": 1, "rules": list})
	}
	slices.SortFunc(list, func(a, b check.Rule) int { return strings.Compare(a.Rule, b.Rule) })
	w := tabwriter.NewWriter(env.out, 0, 8, 2, ' ', 0)
	for _, r := range list {
		for i, line := range wrapWords(r.Doc, max(env.width-32, 40)) {
			fmt.Fprintf(w, "%s\t%s\n", []string{r.Rule, ""}[min(i, 1)], line)
		}
	}
	return w.Flush()
}
