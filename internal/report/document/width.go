package document

import (
	"unicode"

	"golang.org/x/text/width"
)

// columns is how many columns of a terminal a character takes: two where it is East Asian Wide or
// Fullwidth (Unicode Standard Annex 11), which emoji are, too; a mark that combines with the one before
// it takes none.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// length is how many columns of a terminal a text takes.
func length(s string) (n int) {
	for _, r := range s {
		n += columns(r)
	}
	return n
}

// fitting is how many bytes of a text fit into so many columns, with the marks that belong to the last
// character; at least one character does.
func fitting(s string, most int) int {
	n := 0
	for i, r := range s {
		if n += columns(r); n > most && i > 0 {
			return i
		}
	}
	return len(s)
}

// Shortened is a text that takes so many columns at most; an ellipsis stands for what is left out.
func Shortened(s string, most int) string {
	if length(s) > most {
		return s[:fitting(s, most-1)] + "…"
	}
	return s
}
