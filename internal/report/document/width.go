package document

import "github.com/clipperhouse/displaywidth"

// length is how many columns of a terminal a text takes: each character with the marks that belong to it
// two where it is East Asian Wide or Fullwidth (Unicode Standard Annex 11) or an emoji, else one. It
// counts as the cells of a Live are counted.
func length(s string) int { return displaywidth.String(s) }

// fitting is how many bytes of a text fit into so many columns, with the marks that belong to the last
// character; at least one character does.
func fitting(s string, most int) int {
	n, at := 0, 0
	for each := displaywidth.StringGraphemes(s); each.Next(); at += len(each.Value()) {
		if n += each.Width(); n > most && at > 0 {
			return at
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
