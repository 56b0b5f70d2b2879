package document

import (
	"bytes"
	"strings"
	"testing"

	"linerate/internal/report/chart"
)

func TestLengthIsInColumns(t *testing.T) {
	for s, want := range map[string]int{"": 0, "nas1": 4, "北京": 4, "サーバ": 6, "e\u0301": 1, "🚀": 2, "⚡x": 3, "ｎ": 2, "é–→█": 4, "서울": 4, "☺": 1, "☺\ufe0f": 2, "🇩🇪": 2, "👍🏽": 2} {
		if got := length(s); got != want {
			t.Errorf("%q takes %d columns, want %d", s, got, want)
		}
	}
}

func TestShortenedFitsItsColumns(t *testing.T) {
	for _, s := range []string{"nas1", "北京北京北京", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301", "🚀🚀🚀🚀"} {
		for most := 3; most < 9; most++ {
			got := Shortened(s, most)
			if length(got) > most || length(s) <= most && got != s || length(s) > most && (length(got) < most-1 || !strings.HasSuffix(got, "…")) {
				t.Errorf("%q in %d columns is %q", s, most, got)
			}
		}
	}
	if got := Shortened("ae\u0301bcd", 3); got != "ae\u0301…" {
		t.Errorf("%q: a mark goes with its letter", got)
	}
}

// Columns of tables, bars and broken words line up whatever a name is written in.
func TestTextLinesUpWithWideCharacters(t *testing.T) {
	v := 0.5
	m := &chart.Meter{Scale: 1, Value: &v}
	table := Table{Head: Columns("Host", "#Out")}
	table.Row("北京", "1")
	table.Row("a", "2")
	var d Document
	d.Add("x", Block{Rungs: []Rung{{Name: "北京の🚀", Words: "1", Meter: m}, {Name: "nas", Words: "2", Meter: m}}}, table.Block())
	var b bytes.Buffer
	if err := d.Text(&b, false, 80); err != nil {
		t.Fatal(err)
	}
	at := map[string][]int{}
	for l := range strings.Lines(b.String()) {
		if before, _, found := strings.Cut(l, "█"); found {
			at["bar"] = append(at["bar"], length(before))
		} else if l = strings.TrimRight(l, "\n"); strings.HasSuffix(l, " 1") || strings.HasSuffix(l, " 2") {
			at["cell"] = append(at["cell"], length(l))
		}
	}
	for what, at := range at {
		if len(at) != 2 || at[0] != at[1] {
			t.Errorf("%s stands at %v:\n%s", what, at, b.String())
		}
	}
	for _, l := range cut(strings.Repeat("北京", 9), 7) {
		if n := length(l); n > 7 || n == 0 {
			t.Errorf("%q takes %d columns of 7", l, n)
		}
	}
}

// An abbreviation is none in small letters.
func TestNarrowListKeepsAbbreviations(t *testing.T) {
	table := Table{Head: Columns("Connection", "#RTT", "#Resent")}
	table.Row("a", "1ms", "2%")
	var b strings.Builder
	x := &terminal{width: 60, full: 60, labels: 14}
	x.rowBlocks(table, [][]string{{"a", "1ms", "2%"}})
	if b.WriteString(x.String()); !strings.Contains(b.String(), "RTT") || !strings.Contains(b.String(), "resent") {
		t.Error(b.String())
	}
}
