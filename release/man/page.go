package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// page is the manual page of a command, in the macros of man(7). Cobra's own writer of pages
// shows every switch as --name[=false], which nobody would type.
func page(c *cobra.Command, date time.Time) string {
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %q 1 %q linerate linerate\n", strings.ToUpper(name), date.Format(time.DateOnly))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	if long := c.Long; long != "" {
		b.WriteString(".SH DESCRIPTION\n" + paragraphs(long))
	}
	b.WriteString(subcommands(c))
	b.WriteString(options("OPTIONS", c.NonInheritedFlags()))
	b.WriteString(options("OPTIONS OF ALL COMMANDS", c.InheritedFlags()))
	if c.HasExample() {
		b.WriteString(".SH EXAMPLES\n" + verbatim(c.Example))
	}
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(strings.ReplaceAll(c.Parent().CommandPath(), " ", "-")))
	}
	return b.String()
}

func subcommands(c *cobra.Command) string {
	var b strings.Builder
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if b.Len() == 0 {
			b.WriteString(".SH COMMANDS\n")
		}
		path := roff(strings.ReplaceAll(sub.CommandPath(), " ", "-"))
		fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", path, roff(sub.Short))
	}
	return b.String()
}

func options(title string, flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if b.Len() == 0 {
			fmt.Fprintf(&b, ".SH %s\n", title)
		}
		value, text := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if value != "" {
			value = " \\fI" + roff(value) + "\\fR"
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" && !strings.Contains(text, "default") {
			text += " (default " + d + ")"
		}
		fmt.Fprintf(&b, ".TP\n\\fB%s\\fR%s\n%s\n", roff(name), value, roff(text))
	})
	return b.String()
}

// paragraphs fills each paragraph of a text; lines that are indented stay as they are.
func paragraphs(text string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteString(".PP\n")
		literal := false
		for line := range strings.Lines(part) {
			line = strings.TrimRight(line, "\n")
			if indented := strings.HasPrefix(line, "  "); indented != literal {
				b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[indented])
				literal = indented
			}
			b.WriteString(roff(line) + "\n")
		}
		if literal {
			b.WriteString(".fi\n")
		}
	}
	return b.String()
}

func verbatim(text string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
	}
	return b.String() + ".fi\n"
}

// roff escapes a line: a hyphen stays the one that can be copied into a shell, and no line
// begins with what would be a macro.
func roff(line string) string {
	line = strings.NewReplacer("\\", "\\e", "-", "\\-").Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return "\\&" + line
	}
	return line
}
