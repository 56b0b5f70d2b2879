package conf

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func newTestReader() *Reader {
	return NewReader(Kind{Name: "a file", Want: "want one document", Place: "%s:%d: %s", Entries: 5}, "f.yaml")
}

// Each text is refused with its line, and what to do about it.
func TestRefused(t *testing.T) {
	many := func(form string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, form, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "f.yaml:1: want one document"},
		"two":          {"name: a\n---\nname: b\n", "f.yaml:1: want one document"},
		"no YAML":      {"name: a\nlist: [", "f.yaml:2: not YAML: "},
		"no table":     {"text", "f.yaml:1: file: want key: value pairs"},
		"unknown key":  {"\nnmae: a", `f.yaml:2: file: there is no key "nmae"; did you mean name?`},
		"strange key":  {"zzzzzzzz: a", `there is no key "zzzzzzzz"; there are name, count, list, of, on, part, for`},
		"twice":        {"name: a\nname: b", `f.yaml:2: not YAML: mapping key "name" already defined`},
		"twice quoted": {"name: a\n\"name\": b", `f.yaml:2: `},
		"no list":      {"list: 7", "f.yaml:1: list: want a list"},
		"long list":    {"list: [1, 2, 3, 4, 5, 6]", "f.yaml:1: list: 6 entries, at most 5"},
		"no text":      {"name: [a]", "f.yaml:1: name: want a single value"},
		"long text":    {"name: " + strings.Repeat("x", 5000), "f.yaml:1: name: 5000 bytes, at most 4096"},
		"count":        {"count: 010x", `f.yaml:1: count: "010x": want a whole number from 1 to 20`},
		"bool":         {"on: yes", `f.yaml:1: on: "yes": want true or false`},
		"part":         {"part: .nan", `f.yaml:1: part: ".nan": want a number between 0 and 1`},
		"time":         {"for: 3", `f.yaml:1: for: "3": want a time from 1s to 1h0m0s, such as 90s or 2h`},
		"anchor":       {"name: &a b\nof: *a", `f.yaml:1: column 7: "&": anchors, aliases, merge keys and tags are not read`},
		"alias":        {"name: *a", `"*": anchors`},
		"merge key":    {"<<: {name: b}", `"<<": anchors`},
		"tag":          {"name: !!str b", `"!!str": anchors`},
		"deep braces":  {strings.Repeat("{a: ", 60000), "f.yaml:1: column 257: nested more than 64 deep"},
		"deep lists":   {"name: a\nlist: " + strings.Repeat("[", 200000), "f.yaml:2: column 70: nested more than 64 deep"},
		"deep marks":   {"list:\n" + strings.Repeat("- ", 60000), "f.yaml:2: column 129: nested more than 64 deep"},
		"deep blocks":  {stairs(80), "f.yaml:65: column 65: nested more than 64 deep"},
		"hidden":       {strings.Repeat(`{"}": `, 30000), "nested more than 64 deep"},
		"many keys":    {many("a%d: b\n", 20000), "f.yaml:4097: column 6: more than 4096 keys"},
		"large":        {strings.Repeat("#\n", MaxFile), "f.yaml:1: 524288 bytes: a file has at most 262144"},
	} {
		r := newTestReader()
		readAll(r, c.text)
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

type contents struct {
	name  string
	count int
	list  []string
	on    bool
	part  float64
	wait  time.Duration
	of    Node
}

func readAll(r *Reader, text string) contents {
	n := r.Document([]byte(text))
	if r.Failed() {
		return contents{}
	}
	t := n.Table("file", "name", "count", "list", "of", "on", "part", "for")
	return contents{
		t.Text("name"), t.Get("count").Integer(1, 20, 3), t.Get("list").Texts(), t.Get("on").Bool(),
		t.Get("part").Number(0, 1, 0.5), t.Get("for").Duration(time.Second, time.Hour, time.Minute), t.Get("of"),
	}
}

func TestRead(t *testing.T) {
	r := newTestReader()
	c := readAll(r, "name: ' a '\ncount: 7\nlist:\n  - x # why\n  - 010\non: true\npart: 0.25\nof:\n  k: [v, w]\n  l: v\n  m:\n")
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(c.name, c.count, c.list, c.on, c.part, c.wait)
	if want := fmt.Sprint("a", 7, []string{"x", "010"}, true, 0.25, time.Minute); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	of := c.of.Table("of")
	if fmt.Sprint(of.Keys) != "[k l m]" || of.Where("l") != 10 || of.Line != 8 || of.Has("m") || of.Where("z") != 8 {
		t.Errorf("of: %v, line %d, l in line %d", of.Keys, of.Line, of.Where("l"))
	}
	if len(of.Get("k").Items()) != 2 || len(of.Get("l").Items()) != 1 || of.Get("m").Items() != nil {
		t.Error("items of a list, of a single value and of nothing")
	}
	if d := readAll(r, "{}"); d.count != 3 || d.part != 0.5 || d.name != "" {
		t.Errorf("of nothing: %+v", d)
	}
}

// Windows' editors save a file with a byte order mark and ends of lines of two characters.
func TestReadAFileFromWindows(t *testing.T) {
	r := newTestReader()
	c := readAll(r, "\ufeff# ours\r\nname: a\r\nlist:\r\n  - x\r\ncount: 7\r\n")
	if err := r.Err(); err != nil || c.name != "a" || c.count != 7 || !slices.Equal(c.list, []string{"x"}) {
		t.Errorf("%+v, %v", c, err)
	}
}

// Problems come in the order of the file, each once, eight at most.
func TestProblems(t *testing.T) {
	r := newTestReader()
	for line := 20; line > 0; line-- {
		r.Problem(line, "wrong")
		r.Problem(line, "wrong")
	}
	err := r.Err()
	if err == nil || !strings.HasPrefix(err.Error(), "f.yaml:13: wrong\nf.yaml:14: wrong\n") || strings.Count(err.Error(), "\n") != 7 {
		t.Error(err)
	}
}

func TestClosest(t *testing.T) {
	if got := Closest("LEVLE", []string{"name", "levels", "level"}, 2); fmt.Sprint(got) != "[level levels]" {
		t.Error(got)
	}
	if Distance("abc", "") != 3 || Distance("", "abc") != 3 || Distance("kitten", "sitting") != 3 || Distance("a", "a") != 0 || Distance("check", "chekc") != 1 || Distance("ca", "abc") != 3 {
		t.Error("distance")
	}
}

// A hostile file of any form costs memory in proportion to its size: 250 KB that
// nest took the parser 5 GB; an unclosed quote, 17 GB for its message.
func TestMemory(t *testing.T) {
	for _, piece := range []string{
		"{a: ", "[", "- ", "? ", "a: ", "{\"}\": ", "{a: b}, ", "- a\n", "\"", "'", "a: |\n x\n", ":\n", "-\n", "}", "{a: }\n", "%a\n",
		"a:\n", "[a]: b\n", "? [a]\n", "- - a\n", "- {a: [", "[{a: ", "a: [\n]\n", "# c\n", "---\n", "- - - -\n ", "{? ", "[? {",
	} {
		text := []byte(strings.Repeat(piece, MaxFile/2/len(piece)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		newTestReader().Document(text)
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 200 {
			t.Errorf("%q: %d MB", piece, mb)
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, s := range []string{"name: a\nlist: [1, {a: b}]\n", "- - a\n- b: c\n", "a: |\n  x\nb: \"x\\ny\"\n", "{a: {b: [c]}}", "? a\n: b\n", "a: &x b\nc: *x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := newTestReader()
		n := r.Document(text)
		walk(t, n, 0)
		for _, line := range strings.Split(fmt.Sprint(r.Err()), "\n") {
			if r.Failed() && !strings.HasPrefix(line, "f.yaml:") && !strings.Contains(line, "\"") {
				t.Errorf("no place in %q", line)
			}
		}
	})
}

// walk reads a document as far as it goes.
func walk(t *testing.T, n Node, depth int) {
	if depth > 2*maxDepth {
		t.Fatalf("%d deep", depth)
	}
	switch {
	case n.Missing():
	case n.IsMapping():
		for _, v := range n.Table("any").All() {
			walk(t, v, depth+1)
		}
	case n.IsList():
		for _, v := range n.List() {
			walk(t, v, depth+1)
		}
	default:
		n.Text()
	}
}
