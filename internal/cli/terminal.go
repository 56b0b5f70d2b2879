package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// defaultWidth and defaultHeight are used where stdout is no terminal.
const (
	defaultWidth  = 100
	defaultHeight = 40
)

// terminal tells whether to colour and how wide to print: colour only on a
// terminal, never with NO_COLOR set (https://no-color.org) or TERM=dumb.
func terminal(w io.Writer, getenv func(string) string) (color bool, width int) {
	live, width := isTerminal(w)
	return live && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb", width
}

// isTerminal tells whether w is one, and its width.
func isTerminal(w io.Writer) (bool, int) {
	live, width, _ := terminalSize(w)
	return live, width
}

// terminalSize tells whether w is a terminal, and how many columns and lines it has now.
func terminalSize(w io.Writer) (live bool, width, height int) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return false, defaultWidth, defaultHeight
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		width = defaultWidth
	}
	if err != nil || height < 5 {
		height = defaultHeight
	}
	return true, width, height
}
