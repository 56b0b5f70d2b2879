package cli

import (
	"fmt"
	"time"

	"linerate/internal/app/load"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// verifyDocument is what a target still holds.
func verifyDocument(r *load.VerifyResult) document.Document {
	v := r.Verify
	d := document.Document{Headline: fmt.Sprintf("%s: %v looked at, %s", v.Target, unit.Bytes(v.Checked), cacheText(v.Direct))}
	t := document.Table{Head: document.Columns("", "#", "")}
	t.Row("proven", unit.Bytes(v.Proven).String(), "as runs wrote it, where they wrote it")
	t.Row("zeroes", unit.Bytes(v.Zero).String(), "")
	t.Row("wrong", unit.Bytes(v.Wrong).String(), "")
	d.Lead = []document.Block{t.Block()}
	t = document.Table{Head: document.Columns("Run", "#Holds", "Written")}
	for _, x := range r.Runs {
		t.Row(x.Run, unit.Bytes(x.Bytes).String(), x.First.Format(time.RFC3339Nano)+" to "+x.Last.Format(time.RFC3339Nano))
	}
	if len(t.Rows) > 0 {
		d.Lead = append(d.Lead, t.Block())
	}
	var s document.Section
	if j := r.Journal; j != nil {
		s.Add(document.Block{Text: fmt.Sprintf("Journal of run %s: %v acknowledged", j.Run, unit.Bytes(j.Acknowledged))})
	}
	const shown = 10
	for _, p := range v.Places[:min(len(v.Places), shown)] {
		s.Add(document.Block{Text: fmt.Sprintf("offset %d, %v: %s: %s", p.Offset, unit.Bytes(p.Bytes), p.Fault, p.Detail)})
	}
	if n := len(v.Places) + v.More - shown; n > 0 {
		s.Add(document.Block{Text: fmt.Sprintf("and %s more", unit.Count(n, "place"))})
	}
	s.Add(document.List("", v.Evidence...))
	d.Sections = []document.Section{s}
	return d
}

// cacheText says whether the page cache took part.
func cacheText(direct bool) string {
	if direct {
		return "past the page cache"
	}
	return "through the page cache"
}
