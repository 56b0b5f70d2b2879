package report

import (
	"strconv"

	"linerate/internal/model"
	"linerate/internal/report/document"
)

// search shows how design "search" came to the state that was then compared.
func (w *paperWriter) search() document.Section {
	s := w.s.Search
	if s == nil || len(s.Steps) == 0 {
		return document.Section{}
	}
	out := document.Section{Title: "The search"}
	lead := "Each step measures its states in passes and drops the worse half, until one is left; of those within the margin of the best the one nearest to the baseline is kept. These runs only choose: no effect is worked out from them."
	if !s.Over {
		lead += " The search did not come to its end."
	}
	out.Add(document.Block{Text: lead})
	for _, step := range s.Steps {
		out.Add(w.searchTable(step).Block())
	}
	return out
}

func (w *paperWriter) searchTable(step model.StudySearchStep) document.Table {
	t := document.Table{Caption: "All factors together", Head: document.Columns("State", "#Runs", "#Outcome", "")}
	if step.Factor != "" {
		t.Caption = "Factor " + step.Factor
		if len(w.s.File.Factors) > 1 {
			t.Caption += ", the others where they were found best"
		}
	}
	for _, x := range step.States {
		mark := x.Barred
		if x.Found {
			mark = "kept"
		}
		state := stateOf(w.s, model.StudyRun{Levels: x.Levels, Steps: w.steps}, w.steps)
		t.Rows = append(t.Rows, []document.Entry{{Text: state.name(), Class: "strong"}, {Text: strconv.Itoa(x.Runs)}, {Text: positive(x.Value, x.Unit)}, {Text: mark}})
	}
	return t
}
