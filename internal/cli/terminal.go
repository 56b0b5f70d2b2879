package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// defaultWidth is used where stdout is no terminal.
const defaultWidth = 100

// terminal tells whether to colour and how wide to print: colour only on a
// terminal, never with NO_COLOR set (https://no-color.org) or TERM=dumb.
func terminal(w io.Writer, getenv func(string) string) (color bool, width int) {
	live, width := isTerminal(w)
	return live && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", width
}

// isTerminal tells whether w is one, and how many columns it has now.
func isTerminal(w io.Writer) (live bool, width int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, defaultWidth
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = defaultWidth
	}
	return true, width
}
