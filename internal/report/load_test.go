package report

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// A load's page has its text, its course and nothing that a name of a file could
// have put there.
func TestLoadReport(t *testing.T) {
	r := &model.Results{Command: "load block f", Build: "test", Load: &model.Load{
		Line: "by hand on <b>f</b>: 1000 requests/s", Text: "TARGET   RATE\n<script>alert(1)</script> \x1b[31m 1\n",
		Series: []model.LoadSeries{{Name: "by hand", Unit: "B/s", Each: 2, Values: []float64{4e6, 8e6, 4e6}}, {Name: "one value", Unit: "B/s", Each: 1, Values: []float64{1}}},
	}}
	var html, text, markdown strings.Builder
	if err := HTML(&html, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := Text(&text, r, true, 80); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	page := html.String()
	for _, want := range []string{"TARGET   RATE\n", "<path class=\"line s1\"", "MB/s", "&lt;script&gt;", "a value for every 2 s: from 4 to 8"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "<b>f") || strings.Contains(page, "one value") {
		t.Error("the page obeys the names of files, or draws a single value")
	}
	if !strings.Contains(text.String(), "TARGET   RATE\n") || strings.Contains(text.String(), "\x1b[31m") {
		t.Errorf("%q", text.String())
	}
	if !strings.Contains(markdown.String(), "    TARGET   RATE\n") || !strings.Contains(markdown.String(), "&lt;b>f") {
		t.Errorf("%q", markdown.String())
	}
}
