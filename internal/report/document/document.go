package document

import (
	"slices"
	"strings"

	"linerate/internal/report/chart"
)

// Media are the places that a part of a document is for.
type Media int

// The places. A part that names none is for all of them.
const (
	Terminal Media = 1 << iota
	Markup         // Markdown
	Page           // HTML
	Papers   = Markup | Page
)

// Document is one report. What is empty is left out.
type Document struct {
	Title    string // in a browser's tab; empty: the headline
	Kicker   string // a name above the headline
	Headline string
	// Line is the headline with its figures: a terminal and Markdown print it
	// in the headline's place, a page below it.
	Line     string
	Question string
	Lead     []Block // what a reader in a hurry takes away
	Sections []Section
	// Command without the program's name, When it ran and the Build that wrote
	// the report; without a command nothing is said of any.
	Command, When, Build string
	Saved                string // where the whole report lies; a terminal's last line
	Labels               int    // width of a terminal's column of labels; 0: 14
	Numbered             bool   // tables and figures have numbers
}

// Section is one section; Break starts it on a new sheet in print, Care marks
// doubts.
type Section struct {
	Title       string
	For         Media
	Break, Care bool
	Blocks      []Block
}

// Add puts parts at the end of a section.
func (s *Section) Add(blocks ...Block) { s.Blocks = append(s.Blocks, blocks...) }

// Add puts a section at the end of a document; one of no parts is left out.
func (d *Document) Add(title string, blocks ...Block) {
	d.Sections = append(d.Sections, Section{Title: title, Blocks: blocks})
}

// Block is one part of a section. Exactly one of its fields is filled, beside
// For and Title, a heading that the part may have.
type Block struct {
	For      Media
	Title    string
	Text     string
	Note     string // smaller, for how something was made
	Strong   string // a text that is to be seen
	Pre      string // lines that keep their blanks
	Lines    []Line
	Pairs    []Pair
	Tiles    []Tile
	Groups   []Group
	Evidence []Observation
	Rungs    []Rung
	Setup    *Setup
	Card     *Card
	Gauge    *Gauge
	Figures  []Figure // side by side where there is room
	Table    *Table
}

// Line is one entry of a list: what is said first, the rest, what it rests on,
// and what to do. A Label stands in a terminal's column of labels; without one
// the entry gets a dash.
type Line struct {
	Label, Strong, Text, Note, Next string
	Aside                           string // on a page alone
	Dim                             bool   // of less weight than what is around it
}

// Pair is a name and what it stands for.
type Pair struct{ Name, Value string }

// Tile is a key figure with what it is and what it rests on.
type Tile struct{ Label, Value, Note string }

// Group is findings of one kind. Class is b1 … b5, as bars have it.
type Group struct {
	Class, Name string
	Items       []string
}

// Observation is what was seen, with its value in its unit, the name of what was
// counted, the host, and the number of samples.
type Observation struct {
	What, Value, Metric, Host, Scope string
	N                                int
}

// Rung is what was measured against what is possible. Without a Meter it was not
// seen: Words say so, or Why, or Show, what would. Class colours the bar of a terminal: well, part or little.
type Rung struct {
	Name, Class                  string
	Meter                        *chart.Meter
	Words                        string // measured of ceiling
	Measured, Predicted, Ceiling string
	Share                        string
	Method                       string // how it was measured
	Notes                        []string
	Why, Show                    string
	Chosen                       bool // of a list in a Live: that which Enter opens
}

// Card is one thing to do or to know: a finding, a change. Class is high,
// medium or low of a finding, setting, operator or none of a change.
type Card struct {
	Class, Tag, Title string
	Change            *Change
	Text              string
	Pairs             []Pair
	State             string // what was done about it
}

// Change is a setting with its two values.
type Change struct{ Setting, Target, Host, From, To string }

// Gauge is a share drawn on a page, with its number and what it is of.
type Gauge struct {
	Meter     chart.Meter
	Share, Of string
}

// Setup draws hosts: those that send on the left, those that receive on the
// right, what lies between in the middle.
type Setup struct {
	Left, Right []Host
	Wire        string
	Role        [2]string
	Alone       bool // no host sends to another
}

// Host is one host of a drawing.
type Host struct {
	Name, Reach, System, CPU string
	NICs                     []NIC
}

// NIC is one interface: speed, MTU, slot.
type NIC struct{ Name, Speed, MTU, Slot string }

// Drawing is a chart: markup that package chart made and escaped.
type Drawing interface{ SVG() string }

// Figure is one drawing, or several small ones with the same axes.
type Figure struct {
	Number  int // set when a numbered document is rendered
	Caption string
	Panels  []Panel
	Wide    bool // panels with text in them, that need more room each
	Rows    bool // panels below each other, each as wide as the page
	Legend  []Legend
	Note    string
}

// Panel is one drawing of a figure; Title empty: the caption says it.
type Panel struct {
	Title string
	Chart Drawing
}

// Legend is one entry: a swatch of Class, a name and a value with its unit.
type Legend struct{ Class, Name, Value string }

// Table is shown closed under the line Fold on a screen, where it has one, and
// open elsewhere. Without names in its head it has none. Below has a text for
// each row, or none for all, that stands under the row on a terminal and in the
// first column elsewhere.
type Table struct {
	Number  int // set when a numbered document is rendered
	Caption string
	Fold    string
	Heat    bool // cells are shades with their number
	Small   bool
	Head    []Column
	Rows    [][]Entry
	Below   []string
	Notes   []string
}

// Block is the table as a part of a section.
func (t Table) Block() Block { return Block{Table: &t} }

// Row adds a row of plain cells.
func (t *Table) Row(texts ...string) { t.Rows = append(t.Rows, Cells(texts...)) }

// Drop takes columns out by their names.
func (t *Table) Drop(names ...string) {
	for i := len(t.Head) - 1; i >= 0; i-- {
		if !slices.Contains(names, t.Head[i].Name) {
			continue
		}
		t.Head = slices.Delete(t.Head, i, i+1)
		for j := range t.Rows {
			t.Rows[j] = slices.Delete(t.Rows[j], i, i+1)
		}
	}
}

// Column is one column of a table.
type Column struct {
	Name string
	Num  bool
	Clip bool // a terminal cuts what does not fit in one line
}

// Entry is one cell; Sub is a second, smaller line. Class is any of mono,
// strong, whole (not broken), mark, missing, high, medium, low, or h0 … h9 of a
// heat table.
type Entry struct{ Text, Sub, Class string }

// Columns makes columns of names; one that starts with # is of numbers.
func Columns(names ...string) []Column {
	var out []Column
	for _, n := range names {
		c := Column{Name: n}
		if n != "" && n[0] == '#' {
			c = Column{Name: n[1:], Num: true}
		}
		out = append(out, c)
	}
	return out
}

// Cells makes a row of plain cells.
func Cells(texts ...string) []Entry {
	var out []Entry
	for _, s := range texts {
		out = append(out, Entry{Text: s})
	}
	return out
}

// List makes a list of texts under a heading, which may be empty.
func List(title string, texts ...string) Block {
	b := Block{Title: title}
	for _, s := range texts {
		b.Lines = append(b.Lines, Line{Text: s})
	}
	return b
}

// Paragraph is a section without a heading of one text.
func Paragraph(text string) Section { return Section{Blocks: []Block{{Text: text}}} }

// in keeps what is for a place, and numbers its figures and tables.
func (d Document) in(m Media) Document {
	tables, figures := 0, 0
	keep := func(blocks []Block) (out []Block) {
		for _, b := range blocks {
			if b.For != 0 && b.For&m == 0 {
				continue
			}
			if d.Numbered && b.Table != nil {
				tables++
				t := *b.Table
				t.Number = tables
				b.Table = &t
			}
			if d.Numbered {
				b.Figures = append([]Figure(nil), b.Figures...)
			}
			for i := range b.Figures {
				if d.Numbered {
					figures++
					b.Figures[i].Number = figures
				}
			}
			out = append(out, b)
		}
		return out
	}
	d.Lead = keep(d.Lead)
	var sections []Section
	for _, s := range d.Sections {
		if s.For == 0 || s.For&m != 0 {
			if s.Blocks = keep(s.Blocks); len(s.Blocks) > 0 {
				sections = append(sections, s)
			}
		}
	}
	d.Sections = sections
	return d
}

// evidenceTable is the evidence as Markdown and a page show it.
func evidenceTable(list []Observation) Table {
	t := Table{Caption: "Observations behind the verdict. n is the number of samples.",
		Head: Columns("Observation", "#Value", "Host", "#n")}
	for _, o := range list {
		host := Entry{Text: o.Host}
		if o.Scope != "" {
			host.Sub = "scope: " + o.Scope
		}
		what := Entry{Text: Capital(o.What), Sub: o.Metric}
		t.Rows = append(t.Rows, []Entry{what, {Text: o.Value, Class: "strong"}, host, {Text: itoa(o.N)}})
	}
	return t
}

// rungTable is the ladder as Markdown shows it.
func rungTable(rungs []Rung) Table {
	t := Table{Head: Columns("Rung", "#Measured", "#Predicted", "#Ceiling", "#Share", "How")}
	for _, r := range rungs {
		how := joined(r.Method, r.Why, r.Show, bracketed(strings.Join(r.Notes, "; ")))
		t.Row(r.Name, r.Measured, r.Predicted, r.Ceiling, r.Share, how)
	}
	return t
}
