package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gdamore/tcell/v3/vt"

	"linerate/internal/report/chart"
)

// heard is an emulated terminal that remembers what was sent to it.
type heard struct {
	vt.MockTerm
	mu      sync.Mutex
	sent    bytes.Buffer
	reading sync.WaitGroup
}

// Read and Start: the emulated terminal does not start again while it is read.
func (h *heard) Read(b []byte) (int, error) {
	h.reading.Add(1)
	defer h.reading.Done()
	return h.MockTerm.Read(b)
}

func (h *heard) Start() error {
	h.reading.Wait()
	return h.MockTerm.Start()
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	h.sent.Write(b)
	h.mu.Unlock()
	return h.MockTerm.Write(b)
}

// said is what was sent since it was asked last.
func (h *heard) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sent.String()
	h.sent.Reset()
	return s
}

// rows are what the terminal shows, without what is empty at their ends.
func (h *heard) rows(t testing.TB) (out []string) {
	t.Helper()
	size, err := h.WindowSize()
	if err != nil {
		t.Fatal(err)
	}
	for y := range size.Height {
		row := ""
		for x := 0; x < size.Width; {
			c := h.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
			if c.C == "" {
				c.C = " "
			}
			row += c.C
			x += max(1, c.W)
		}
		out = append(out, strings.TrimRight(row, " "))
	}
	return out
}

// onTerminal is a Live on an emulated terminal.
func onTerminal(t testing.TB, width, height int, color bool) (*Live, *heard) {
	t.Helper()
	h := &heard{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: vt.Col(width), Y: vt.Row(height)})}
	l, err := LiveOn(h, color)
	if err != nil {
		t.Fatal(err)
	}
	return l, h
}

func texts(lines ...string) (d Document) {
	for _, s := range lines {
		d.Lead = append(d.Lead, Block{Text: s})
	}
	return d
}

func lineTexts(n int) (lines []string) {
	for i := range n {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	return lines
}

func TestLiveShowsThePartThatKeysChoose(t *testing.T) {
	l, h := onTerminal(t, 60, 11, false)
	defer l.Close()
	l.Draw(texts(lineTexts(30)...), Foot{Say: "12:00:00", Keys: []string{"q quit", strings.Repeat("long", 9), "? keys"}})
	for _, c := range []struct {
		key   string
		first int
	}{{"Up", 1}, {"Down", 2}, {"j", 3}, {"k", 2}, {"PgDn", 11}, {"PgUp", 2}, {"End", 21}, {"Down", 21}, {"Home", 1}, {"G", 21}, {"g", 1}} {
		if !l.Scroll(c.key) {
			t.Errorf("%s does not scroll", c.key)
		}
		rows := h.rows(t)
		if want := fmt.Sprintf("line %d", c.first); rows[0] != want || rows[9] != fmt.Sprintf("line %d", c.first+9) {
			t.Errorf("after %s the first line is %q and the last %q, want %q", c.key, rows[0], rows[9], want)
		}
		if want := fmt.Sprintf(" 12:00:00  lines %d-%d of 30  q quit  ? keys", c.first, c.first+9); rows[10] != want {
			t.Errorf("%q, want %q", rows[10], want)
		}
	}
	if l.Scroll("x") {
		t.Error("x scrolls")
	}
	l.Scroll("End")
	l.Draw(texts("short"), Foot{})
	if rows := h.rows(t); rows[0] != "short" || rows[1] != "" || !strings.Contains(rows[10], "all shown") {
		t.Errorf("%q", rows)
	}
}

// The chosen rung is marked, in colours or without, and shown when that is asked for.
func TestLiveRevealsTheChosenRung(t *testing.T) {
	for _, color := range []bool{false, true} {
		l, h := onTerminal(t, 60, 6, color)
		var d Document
		d.Add("Paths", Block{Rungs: []Rung{{Name: "a", Words: "1"}}}, Block{Lines: make([]Line, 9)}, Block{Rungs: []Rung{{Name: "b", Words: "2", Chosen: true}}})
		l.Draw(d, Foot{})
		if rows := h.rows(t); rows[0] != "Paths" {
			t.Errorf("%q", rows)
		}
		l.Reveal()
		l.Draw(d, Foot{})
		rows := h.rows(t)
		y := slices.IndexFunc(rows, func(s string) bool { return strings.HasPrefix(s, "  b") })
		if y < 0 || h.GetCell(vt.Coord{X: 2, Y: vt.Row(y)}).S.Attr()&vt.Reverse == 0 || h.GetCell(vt.Coord{X: 7, Y: vt.Row(y)}).S.Attr()&vt.Reverse != 0 {
			t.Errorf("color %v: not marked: %q", color, rows)
		}
		l.Close()
	}
}

// Names of hosts in any script stand in their columns, and none of them is obeyed or leaves its line.
func TestLiveShowsForeignAndHostileNames(t *testing.T) {
	l, h := onTerminal(t, 40, 8, true)
	defer l.Close()
	l.Draw(texts("北京|x", "e\u0301|x", "🚀|x", "a\x1b[2J\x1b]0;t\x07\u202e|x\u200f", "\u0301|x", strings.Repeat("北", 30), "\u200d\ufe0f|x"), Foot{Say: "foot"})
	rows := h.rows(t)
	// (The emulated terminal knows no combining characters: that they are sent is seen below.)
	for y, want := range []string{"北京|x", "e|x", "🚀|x", "a [2J ]0;t |x", "|x"} {
		if rows[y] != want {
			t.Errorf("%q, want %q", rows[y], want)
		}
	}
	if !strings.Contains(h.said(), "e\u0301|x") {
		t.Error("a combining character is lost")
	}
	if rows[7] != " foot  all shown" {
		t.Errorf("%q", rows)
	}
	if h.GetTitle() != "" {
		t.Errorf("a name is the title: %q", h.GetTitle())
	}
}

// UTF-8 in any locale, as all that linerate prints.
func TestLiveIsUTF8InAnyLocale(t *testing.T) {
	for _, locale := range []string{"C", "POSIX", "de_DE.ISO-8859-1", "de_DE.UTF-8", ""} {
		t.Setenv("LC_ALL", locale)
		l, h := onTerminal(t, 40, 3, false)
		l.Draw(texts("█░▂ é"), Foot{})
		if rows := h.rows(t); rows[0] != "█░▂ é" {
			t.Errorf("%s: %q", locale, rows[0])
		}
		l.Close()
	}
}

// Without colours nothing but the last line has a style.
func TestLiveWithoutColor(t *testing.T) {
	l, h := onTerminal(t, 40, 4, false)
	defer l.Close()
	d := Document{Headline: "strong"}
	h.said()
	l.Draw(d, Foot{})
	if s := h.said(); strings.Contains(s, "\x1b[1m") || strings.Contains(s, "\x1b[3") {
		t.Errorf("%q", s)
	}
	inColor, c := onTerminal(t, 40, 4, true)
	defer inColor.Close()
	c.said()
	v, of := 1.0, 2.0
	d.Add("", Block{Rungs: []Rung{{Name: "n", Class: "little", Words: "w", Meter: &chart.Meter{Scale: of, Value: &v}}}})
	inColor.Draw(d, Foot{})
	if s := c.said(); !strings.Contains(s, "\x1b[1m") || !strings.Contains(s, "\x1b[31m") {
		t.Errorf("%q", s)
	}
}

// What has not changed is not sent again.
func TestLiveSendsWhatChanged(t *testing.T) {
	l, h := onTerminal(t, 200, 50, true)
	defer l.Close()
	lines := slices.Repeat([]string{strings.Repeat("北京 abc ", 15)}, 49)
	l.Draw(texts(lines...), Foot{Say: "12:00:00"})
	whole := len(h.said())
	lines[7] = "X" + lines[7][len("北京"):]
	l.Draw(texts(lines...), Foot{Say: "12:00:01"})
	if n := len(h.said()); n > 500 || whole < 5000 {
		t.Errorf("%d bytes for a line and the time, %d for all", n, whole)
	}
	l.Redraw()
	if n := len(h.said()); n < whole {
		t.Errorf("drawn again with %d bytes, at first with %d", n, whole)
	}
}

func TestLiveFollowsTheSizeOfTheTerminal(t *testing.T) {
	l, h := onTerminal(t, 80, 24, false)
	defer l.Close()
	d := texts(strings.Repeat("word ", 30))
	l.Draw(d, Foot{Say: "foot"})
	for _, size := range [][2]int{{60, 10}, {200, 60}, {30, 2}, {10, 1}, {80, 24}} {
		h.SetSize(vt.Coord{X: vt.Col(size[0]), Y: vt.Row(size[1])})
		for l.Width() != size[0] {
			if key, ok := <-l.Keys(); !ok {
				t.Fatalf("%q", key)
			}
			l.Draw(d, Foot{Say: "foot"})
		}
		l.Draw(d, Foot{Say: "foot"})
		if rows := h.rows(t); len(rows) != size[1] || !strings.HasPrefix(rows[size[1]-1], " foot") {
			t.Errorf("at %v: %q", size, rows)
		}
	}
}

func TestLiveNamesKeys(t *testing.T) {
	l, h := onTerminal(t, 80, 24, false)
	defer l.Close()
	for _, c := range [][2]string{{"q", "q"}, {" ", " "}, {"\x1b[A", "Up"}, {"\x1bOB", "Down"}, {"\x1b[5~", "PgUp"}, {"\x1b[6~", "PgDn"},
		{"\x1b[H", "Home"}, {"\x1b[F", "End"}, {"\x03", "Ctrl-C"}, {"\x1a", "Ctrl-Z"}, {"\x0c", "Ctrl-L"}, {"\r", "Enter"}, {"\t", "Tab"},
		{"\x1b[Z", "Backtab"}, {"\x7f", "Backspace"}, {"\xff\xc3q", "q"}, {"\x1b", "Esc"}, {"?", "?"}} {
		h.SendRaw([]byte(c[0]))
		got := Resized
		for got == Resized {
			got = <-l.Keys()
		}
		if got != c[1] {
			t.Errorf("%q is %q, want %q", c[0], got, c[1])
		}
	}
}

// While the user has stopped the program the terminal is as it was; after that the picture is there again.
func TestLiveGivesTheTerminalBack(t *testing.T) {
	const open, back = "\x1b[?1049h", "\x1b[?1049l"
	l, h := onTerminal(t, 60, 10, false)
	if !strings.Contains(h.said(), open) {
		t.Error("the second screen is not opened")
	}
	l.Draw(texts("a line"), Foot{})
	stopped := ""
	if err := l.Suspend(func() { stopped = h.said() }); err != nil || !strings.Contains(stopped, back) || !strings.Contains(stopped, "\x1b[?25h") || !strings.Contains(stopped, "\x1b[?7h") {
		t.Errorf("stopped after %q: %v", stopped, err)
	}
	if s := h.said(); !strings.Contains(s, open) || !strings.Contains(s, "a line") {
		t.Errorf("after that %q", s)
	}
	l.Close()
	if s := h.said(); !strings.Contains(s, back) {
		t.Errorf("at the end %q", s)
	}
	if _, open := <-l.Keys(); open {
		t.Error("keys go on")
	}
}

// Whatever a host is called and whatever is typed, the last line stays what it is, where it is.
func FuzzLive(f *testing.F) {
	f.Add(bad, []byte("\x1b[B\x1b[6~q"))
	f.Add("北\u0301\u0301👩\u200d👩\u200d👧🇩🇪☺\ufe0f", []byte("\x1b]52;c;?\x07\x1bP\x1b[<0;1;1M"))
	l, h := onTerminal(f, 60, 5, true)
	f.Cleanup(l.Close)
	go func() {
		for range l.Keys() {
		}
	}()
	f.Fuzz(func(t *testing.T, name string, typed []byte) {
		h.SendRaw(typed)
		var d Document
		d.Add(name, Block{Text: name}, Block{Rungs: []Rung{{Name: Shortened(name, 22), Words: name, Chosen: true}}})
		l.Draw(d, Foot{Say: "foot"})
		if rows := h.rows(t); !strings.HasPrefix(rows[4], " foot  ") {
			t.Fatalf("%q of %q", rows, name)
		}
	})
}
