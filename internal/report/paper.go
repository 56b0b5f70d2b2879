package report

import (
	"html/template"
	"slices"

	"linerate/internal/model"
)

// paper is the white paper of a study: sections of blocks, so that the page
// and its Markdown twin say the same in the same order.
type paper struct {
	Name, Question string
	Headline       string
	Answer         []answer
	Tiles          []tile
	Doubts         []model.Warning
	Sections       []paperSection
	Command, When  string
	Build          string
}

// answer is one group of findings: what pays, what did nothing.
type answer struct {
	Class string // b1 … b5, as the bars have it
	Name  string
	Items []string
}

// paperSection is one section; Break starts it on a new sheet in print.
type paperSection struct {
	Title  string
	Break  bool
	Blocks []block
}

// block is one part of a section. Exactly one of its fields is filled.
type block struct {
	Text    string
	Note    string // smaller, for how something was made
	List    []string
	Pairs   []pair
	Setup   *setupView
	Figures []paperFigure // side by side where there is room
	Table   *paperTable
}

// paperFigure is a numbered figure of one drawing, or of several small ones
// with the same axes.
type paperFigure struct {
	Number  int
	Caption string
	Panels  []panel
	Wide    bool // panels with text in them, that need more room each
	Rows    bool // panels below each other, each as wide as the page
	Legend  []legend
	Note    string
}

type panel struct {
	Title string // empty: the figure's caption says it
	SVG   template.HTML
}

// paperTable is a numbered table. One with a Fold is shown closed under that
// line on a screen, open on paper.
type paperTable struct {
	Number  int
	Caption string
	Fold    string
	Heat    bool // cells are shades with their number
	Head    []column
	Rows    [][]entry
	Notes   []string
}

// column is one column of a table.
type column struct {
	Name string
	Num  bool
}

// entry is one cell. Class is mono, strong, missing, or h0 … h9 of a heat table.
type entry struct {
	Text  string
	Sub   string // a second, smaller line
	Class string
}

// writer numbers the figures and tables of a paper in the order they come.
type paperWriter struct {
	r               *model.Results
	s               *model.Study
	facts           map[string]*model.Facts
	samples         map[string]map[string][]model.Sample
	states          []state
	steps           int          // that the baseline has
	dropped         map[int]bool // runs of groups that did not agree
	figures, tables int
}

// paperOf makes the white paper of r.Study. samples are by run label and host;
// they and facts may be empty: what cannot be shown then is left out or said.
func paperOf(r *model.Results, samples map[string]map[string][]model.Sample, facts map[string]*model.Facts) paper {
	w := &paperWriter{r: r, s: r.Study, facts: facts, samples: samples}
	w.states, w.steps = statesOf(w.s), baselineSteps(w.s)
	w.dropped = droppedRuns(w.s)
	p := paper{Name: w.s.Name, Question: w.s.Question, Command: r.Command, When: moment(w.started()), Build: r.Build,
		Headline: headlineOf(w.s), Answer: answersOf(w.s), Tiles: w.tiles(), Doubts: doubts(r)}
	for _, make := range []func() paperSection{
		w.recommendation, w.setup, w.method, w.effects, w.processors, w.scaling, w.heat, w.overTime, w.perFrames, w.perCore, w.latency,
		w.ladder, w.nothing, w.noise, w.changes, w.threats, w.everyRun, w.hosts, w.provenance,
	} {
		if s := make(); len(s.Blocks) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	return p
}

func (w *paperWriter) figure(f paperFigure) paperFigure {
	w.figures++
	f.Number = w.figures
	return f
}

func (w *paperWriter) table(t paperTable) block {
	w.tables++
	t.Number = w.tables
	return block{Table: &t}
}

// cols makes columns of names; one that starts with # is of numbers.
func cols(names ...string) []column {
	var out []column
	for _, n := range names {
		if n[0] == '#' {
			out = append(out, column{Name: n[1:], Num: true})
			continue
		}
		out = append(out, column{Name: n})
	}
	return out
}

// drop takes columns out by their names.
func (t *paperTable) drop(names ...string) {
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
