package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"linerate/internal/report/chart"
)

// bad is what a hostile host, file or peer may put where text goes: markup, C0
// and C1 controls, an escape sequence, newlines, and marks of direction.
const bad = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[31m\u009b2J\x00\a\b\r\nNEW LINE\u2028\u202e\u2066|`{{.}}[a](b)*_#\u200b\xff"

// filled sets every text of a value to s and every list to two of its kind.
func filled(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Struct:
		for i := range v.NumField() {
			filled(v.Field(i), s)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			filled(v.Index(i), s)
		}
	case reflect.Array:
		for i := range v.Len() {
			filled(v.Index(i), s)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if v.Type().Elem().Kind() == reflect.Float64 {
			v.Elem().SetFloat(1)
		}
		filled(v.Elem(), s)
	case reflect.Interface:
		v.Set(reflect.ValueOf(chart.Meter{Scale: 1, Figure: chart.Figure{ID: "x", Title: s, Desc: s}}))
	}
}

// hostile is a document all of whose texts are bad.
func hostile() Document {
	var d Document
	filled(reflect.ValueOf(&d).Elem(), bad)
	d.Numbered = true
	for _, blocks := range [][]Block{d.Lead, d.Sections[0].Blocks, d.Sections[1].Blocks} {
		for i := range blocks {
			blocks[i].Pre = strings.ReplaceAll(bad, "\n", "") // whose lines stay lines
		}
	}
	return d
}

// No text of a document reaches a terminal, a Markdown page or an HTML page as it
// came, whichever field it stands in.
func TestHostileTextIsDefused(t *testing.T) {
	for _, width := range []int{40, 100, 160} {
		for name, render := range map[string]func(io.Writer) error{
			"text":     func(w io.Writer) error { return hostile().Text(w, false, width) },
			"markdown": hostile().Markdown,
			"html":     hostile().HTML,
		} {
			var out strings.Builder
			if err := render(&out); err != nil {
				t.Fatal(err)
			}
			for _, no := range []string{"\x1b", "\u009b", "\x00", "\a", "\b", "\r", "\u2028", "\u202e", "\u2066", "\u200b", "\xff"} {
				if i := strings.Index(out.String(), no); i >= 0 {
					t.Errorf("%s: %q got through: …%q", name, no, out.String()[max(0, i-60):i+3])
				}
			}
			if name != "html" && strings.Contains(out.String(), "\nNEW LINE") {
				t.Errorf("%s: a newline of a text is one", name)
			}
		}
	}
}

// With color only the codes that are ours are in the text.
func TestColorsAreOurs(t *testing.T) {
	var out strings.Builder
	if err := hostile().Text(&out, true, 100); err != nil {
		t.Fatal(err)
	}
	for _, code := range regexp.MustCompile("\x1b[^m]*m?").FindAllString(out.String(), -1) {
		if code != sgrBold && code != sgrDim && code != sgrReset {
			t.Errorf("%q", code)
		}
	}
}

func TestMarkdownShowsNoMarkup(t *testing.T) {
	var out strings.Builder
	if err := hostile().Markdown(&out); err != nil {
		t.Fatal(err)
	}
	// Within a code span and a block of code markup is text.
	text := regexp.MustCompile("(?m)^    .*$").ReplaceAllString(out.String(), "")
	text = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(strings.ReplaceAll(text, "\\`", ""), "")
	for _, no := range []string{"<script", "<img", "[a](b)"} {
		if strings.Contains(text, no) {
			t.Errorf("%q got through", no)
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "| ") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") > 7 {
			t.Errorf("a text made a column: %s", line)
		}
	}
}

func TestPageIsWellFormedAndShowsNoMarkup(t *testing.T) {
	var out strings.Builder
	if err := hostile().HTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Contains(page, "ZgotmplZ") {
		t.Error("markup got through")
	}
	d := xml.NewDecoder(strings.NewReader(page[strings.Index(page, "<body>") : strings.Index(page, "</body>")+len("</body>")]))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestPlain(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[31mb\nc\u202ed":   "a [31mb c d",
		"39\u202f900 requests/s": "39\u202f900 requests/s",
		"é ✓ 中":                  "é ✓ 中",
		"a\xffb\ufffd\u200b":     "a?b??",
		"\u0085\u2029x":          "  x",
	} {
		if got := Plain(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"4096 131072 6291456":   "4096|131072|6291456",
		"  net.ipv4.tcp_rmem":   "  net.ipv4|  .tcp_rme|  m",
		"same":                  "same",
		"":                      "",
		"* x":                   "* x",
		"ab cd":                 "ab cd",
		"abcdefghijklmnopqrstu": "abcdefghij|klmnopqrst|u",
	} {
		if got := strings.Join(cut(text, 10), "|"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func tableText(t *testing.T, x Table, width int) string {
	t.Helper()
	var out strings.Builder
	if err := (Document{Lead: []Block{x.Block()}}).Text(&out, false, width); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A table keeps to the width: whole, then with broken cells, then as a block of
// lines for each row.
func TestTableKeepsToTheWidth(t *testing.T) {
	x := Table{Head: Columns("Setting", "#Now", "Why"), Below: []string{"as the kernel has it", ""},
		Rows: [][]Entry{Cells("net.core.rmem_max", "212992", "the buffer that a program may ask for"), {{Text: "mtu", Sub: "eth0"}, {Text: "1500"}, {Text: "–"}}}}
	for width, want := range map[int]string{
		100: "  SETTING               NOW  WHY\n  net.core.rmem_max  212992  the buffer that a program may ask for\n      as the kernel has it\n  mtu (eth0)           1500  –\n",
		50:  "  SETTING               NOW  WHY\n  net.core.rmem_max  212992  the buffer that a\n                             program may ask for\n      as the kernel has it\n  mtu (eth0)           1500  –\n",
		40:  "  net.core.rmem_max\n    now  212992\n    why  the buffer that a program may\n         ask for\n      as the kernel has it\n  mtu (eth0)\n    now  1500\n    why  –\n",
	} {
		if got := tableText(t, x, width); got != want {
			t.Errorf("width %d:\n%s\nwant:\n%s", width, got, want)
		}
	}
	for range 4 {
		x.Head = append(x.Head, Column{Name: "More"})
		for i := range x.Rows {
			x.Rows[i] = append(x.Rows[i], Entry{Text: "something that is long"})
		}
	}
	if got := tableText(t, x, 60); !strings.HasPrefix(got, "  net.core.rmem_max\n    now   212992\n    why   the buffer that a program may ask for\n    more  something that is long\n") {
		t.Errorf("as blocks:\n%s", got)
	}
}

// Every part has a place in every medium, but for drawings; what is for one place
// is in no other.
func TestPlaces(t *testing.T) {
	d := Document{Headline: "H", Numbered: true, Sections: []Section{
		{Title: "All", Blocks: []Block{{Text: "everywhere"}, {For: Terminal, Text: "terminal only"}, {For: Papers, Table: &Table{Caption: "of papers", Head: Columns("a"), Rows: [][]Entry{Cells("x")}}}}},
		{Title: "Drawn", For: Page, Blocks: []Block{{Figures: []Figure{{Caption: "F", Panels: []Panel{{Chart: chart.Meter{Scale: 1, Figure: chart.Figure{ID: "m"}}}}}}}}},
		{Title: "Nothing in it"},
	}}
	var text, mark, page strings.Builder
	if err := errors.Join(d.Text(&text, false, 80), d.Markdown(&mark), d.HTML(&page)); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); got != "H\n\nAll\neverywhere\nterminal only\n" {
		t.Errorf("text %q", got)
	}
	if got := mark.String(); got != "# H\n\n## All\n\neverywhere\n\nTable 1. of papers\n\n| a |\n|---|\n| x |\n" {
		t.Errorf("markdown %q", got)
	}
	for want, n := range map[string]int{"everywhere": 1, "terminal only": 0, "Table 1. of papers": 1, "Figure 1. F": 1, "<svg ": 1, "Nothing in it": 0} {
		if got := strings.Count(page.String(), want); got != n {
			t.Errorf("page: %d times %q", got, want)
		}
	}
	if d.Sections[0].Blocks[2].Table.Number != 0 {
		t.Error("rendering changed the document")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWritingFails(t *testing.T) {
	d := Document{Headline: "H"}
	for _, err := range []error{d.Text(full{}, false, 80), d.Markdown(full{}), d.HTML(full{})} {
		if err == nil || !strings.HasPrefix(err.Error(), "write report: ") {
			t.Error(fmt.Sprint(err))
		}
	}
}
