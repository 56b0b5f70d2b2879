package document

import (
	"slices"
	"strconv"
	"strings"
)

// Plain makes a text from outside safe for a terminal and for one line:
// control characters (C0 and C1, among them newlines and the escape that starts
// a colour or a cursor move), line separators and characters that turn the
// writing direction become spaces, and what cannot be seen becomes "?".
func Plain(s string) string {
	return strings.Map(plainRune, strings.ToValidUTF8(s, "?"))
}

// plainLines is Plain for a text of several lines.
func plainLines(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		out = append(out, strings.TrimRight(Plain(strings.TrimRight(line, "\r\n")), " "))
	}
	return out
}

// wrap makes a text plain and breaks it into lines of at most width columns,
// at spaces; a longer word, such as a path, stays whole.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range words(Plain(s)) {
		switch {
		case line == "":
			line = word
		case length(line)+1+length(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// words splits at spaces but keeps "n = 8" together.
func words(s string) []string {
	var out []string
	glue := false
	for _, w := range strings.Fields(s) {
		if (glue || w == "=") && len(out) > 0 {
			out[len(out)-1] += " " + w
		} else {
			out = append(out, w)
		}
		glue = w == "="
	}
	return out
}

// cut is wrap that breaks words too, for a column that must keep its width.
// Blanks that the text starts with stay.
func cut(s string, width int) []string {
	s = strings.TrimRight(Plain(s), " ")
	n := lead(s)
	if n == len(s) || n*2 > width {
		return []string{s}
	}
	var out []string
	room := width - n
	for _, line := range wrap(s[n:], room) {
		for length(line) > room {
			at := fitting(line, room)
			if i := strings.LastIndexAny(line[:at], "._@/=:-"); i > at/2 { // rather than within a word
				at = i + 1
			}
			out, line = append(out, line[:at]), line[at:]
		}
		out = append(out, line)
	}
	for i := range out {
		out[i] = []string{s[:n], pad("", n)}[min(i, 1)] + out[i]
	}
	return out
}

// lead is how many blanks and stars a text begins with.
func lead(s string) int { return len(s) - len(strings.TrimLeft(s, " *")) }

// Capital makes a sentence of advice or evidence start as one, unless its
// first word is a name (eth0, tcp_rmem).
func Capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	for _, r := range first {
		if r < 'a' || r > 'z' {
			return s
		}
	}
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// pad fills s up with spaces to width columns, padLeft in front of it.
func pad(s string, width int) string { return s + strings.Repeat(" ", max(0, width-length(s))) }

func padLeft(s string, width int) string { return strings.Repeat(" ", max(0, width-length(s))) + s }

func itoa(n int) string { return strconv.Itoa(n) }

// joined puts texts beside each other with blanks; one that starts with a mark
// of punctuation stands close.
func joined(texts ...string) string {
	out := ""
	for _, s := range slices.DeleteFunc(texts, func(s string) bool { return s == "" }) {
		if out != "" && !strings.ContainsAny(s[:1], ",;:.") {
			out += " "
		}
		out += s
	}
	return out
}

// bracketed is a text in brackets, with an s before; empty for none.
func bracketed(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}
