package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"linerate/internal/report/document"
)

// columns are lines of cells below each other on a terminal. A cell is one, whatever the
// text in it: no tabulator or newline of it makes another.
type columns struct{ w *tabwriter.Writer }

// beginColumns begins without a line.
func beginColumns(out *document.Screen) columns {
	return columns{tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)}
}

// newColumns begins with the names of the columns.
func newColumns(out *document.Screen, names ...string) columns {
	c := beginColumns(out)
	c.row(names...)
	return c
}

// row adds a line.
func (c columns) row(cells ...string) {
	for i := range cells {
		cells[i] = document.Plain(cells[i])
	}
	fmt.Fprintln(c.w, strings.Join(cells, "\t"))
}

// line adds a text that is not in columns, after an empty line.
func (c columns) line(format string, args ...any) {
	fmt.Fprintf(c.w, "\n%s\n", document.Plain(fmt.Sprintf(format, args...)))
}

// part begins another table after an empty line.
func (c columns) part(names ...string) {
	fmt.Fprintln(c.w)
	c.row(names...)
}

// print writes what was added. It fails when the stream does.
func (c columns) print() error { return c.w.Flush() }
