package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain makes a text from outside safe for a terminal and for one line:
// control characters, among them the escape that starts a colour or a cursor
// move, and characters that turn the writing direction become spaces.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Plain is what a command prints of a text from a bundle: one line without
// anything that a terminal would obey.
func Plain(s string) string { return plain(s) }

// wrap breaks a text into lines of at most width characters, at spaces; a
// longer word, such as a path, stays whole.
func wrap(s string, width int) []string {
	var lines []string
	line := ""
	for _, word := range words(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
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

// pad fills s up with spaces to width characters.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// padLeft puts spaces before s up to width characters.
func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
}
