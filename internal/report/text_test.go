package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"linerate/internal/model"
)

func TestTextGolden(t *testing.T) {
	for _, c := range []struct {
		name  string
		run   func() *model.Results
		color bool
		width int
	}{
		{"window-80.txt", windowResults, false, 80},
		{"window-color.txt", windowResults, true, 100},
		{"window-40.txt", windowResults, false, 40},
		{"fix.txt", fixRun, false, 100},
		{"passive.txt", passiveRun, false, 80},
		{"healthy.txt", healthyRun, false, 80},
		{"empty.txt", func() *model.Results { return &model.Results{} }, false, 80},
	} {
		var buf bytes.Buffer
		if err := Text(&buf, c.run(), c.color, c.width); err != nil {
			t.Fatal(err)
		}
		same(t, c.name, buf.Bytes())
		if !c.color && strings.Contains(buf.String(), "\x1b") {
			t.Errorf("%s: an escape sequence without color", c.name)
		}
	}
}

func TestMarkdownGolden(t *testing.T) {
	for name, r := range map[string]*model.Results{"window.md": windowResults(), "passive.md": passiveRun(), "empty.md": {}} {
		var buf bytes.Buffer
		if err := Markdown(&buf, r, nil, nil); err != nil {
			t.Fatal(err)
		}
		same(t, name, buf.Bytes())
	}
}

func TestTextKeepsToItsWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120} {
		var buf bytes.Buffer
		r := windowResults()
		r.Report = "" // a path is never broken
		r.Verdict.Fix.Setting = "short"
		if err := Text(&buf, r, false, width); err != nil {
			t.Fatal(err)
		}
		for _, l := range strings.Split(buf.String(), "\n") {
			if utf8.RuneCountInString(l) > width {
				t.Errorf("width %d: %q", width, l)
			}
		}
	}
}

func TestTextAndMarkdownDefuseHostileNames(t *testing.T) {
	var text, mark bytes.Buffer
	r := hostileRun()
	if err := Text(&text, r, false, 80); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&mark, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\x1b", "\x00", "\u202e", "\r"} {
		if strings.Contains(text.String(), bad) || strings.Contains(mark.String(), bad) {
			t.Errorf("%q got through", bad)
		}
	}
	// Within a code span markup is text.
	if strings.Contains(regexp.MustCompile("`[^`]*`").ReplaceAllString(strings.ReplaceAll(mark.String(), "\\`", ""), ""), "<script>") {
		t.Error("markup got through")
	}
}
