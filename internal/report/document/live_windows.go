package document

import "github.com/gdamore/tcell/v3"

// ownReader has nothing to do: there tcell's reader ends when the terminal is left.
func ownReader(tty tcell.Tty, _ string) tcell.Tty { return tty }
