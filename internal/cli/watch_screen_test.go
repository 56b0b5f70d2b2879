package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"

	"linerate/internal/app"
	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/watch"
)

// keyed is a view on an emulated terminal.
type keyed struct {
	*testing.T
	screen *onScreen
	term   vt.MockTerm
	ctx    context.Context // of the view
}

func viewOn(t *testing.T, width, height int) *keyed {
	t.Helper()
	term := vt.NewMockTerm(vt.MockOptSize{X: vt.Col(width), Y: vt.Row(height)})
	live, err := document.LiveOn(term, false)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	env := &environment{Env: app.Env{Now: func() time.Time { now = now.Add(time.Second); return now }, Getenv: func(string) string { return "" }},
		out: document.NewScreen(io.Discard), err: document.NewScreen(io.Discard)}
	ctx, quit := context.WithCancel(context.Background())
	v := newView(env, false, false)
	v.quit, v.done = quit, ctx.Done()
	v.screen = newOnScreen(v, live)
	go v.screen.run()
	t.Cleanup(func() {
		if err := v.end(); err != nil {
			t.Error(err)
		}
	})
	return &keyed{t, v.screen, term, ctx}
}

func (k *keyed) show(all ...watch.Picture) {
	k.Helper()
	if err := k.screen.show(all); err != nil {
		k.Error(err)
	}
}

func (k *keyed) text() string {
	out := strings.Builder{}
	out.WriteString("\n")          // every line begins after one
	size, _ := k.term.WindowSize() // an emulated one has a size
	for y := range size.Height {
		for x := 0; x < size.Width; {
			c := k.term.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
			out.WriteString(cmp.Or(c.C, " "))
			x += max(1, c.W)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// waits is until all of some texts are on the terminal; of one that begins with ! until it is not.
func (k *keyed) waits(texts ...string) {
	k.Helper()
	var got string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		got = k.text()
		missing := 0
		for _, s := range texts {
			if bare, not := strings.CutPrefix(s, "!"); strings.Contains(got, bare) == not {
				missing++
			}
		}
		if missing == 0 {
			return
		}
	}
	k.Fatalf("%q do not come:\n%s", texts, got)
}

func (k *keyed) types(keys string) { k.term.SendRaw([]byte(keys)) }

func pathNamed(name string, n watch.Named) watch.Picture {
	p := pathIn(n, 0.5)
	p.Path, p.At = name, time.Date(2026, 11, 26, 12, 0, 1, 0, time.Local)
	return p
}

var (
	lossy    = limitedBy(model.PathLoss, model.AtPath, "")
	healthy  = limitedBy(model.None, model.Nowhere, "")
	upKey    = "\x1b[A"
	endKey   = "\x1b[F"
	homeKey  = "\x1b[H"
	backTab  = "\x1b[Z"
	escapeIt = "\x1b"
)

func TestKeysOpenPathsAndComeBack(t *testing.T) {
	k := viewOn(t, 100, 30)
	all := []watch.Picture{pathNamed("first", healthy), pathNamed("second", lossy), pathNamed("third", healthy)}
	k.show(all...)
	k.waits("  1 second ", "  2 first ", "  3 third ", "3 paths, 1 held back", "all shown  q quit  ? keys  Enter open  p hold  Tab next")
	k.types("2")
	k.waits("!3 paths", "\nfirst ", "Esc back")
	k.types("\t")
	k.waits("\nthird ", "!first")
	k.types("\t")
	k.waits("\nsecond ", "!third")
	k.types(backTab)
	k.waits("\nthird ", "!second")
	k.types(escapeIt)
	k.waits("3 paths, 1 held back")
	k.types("\t\r") // from the third on to the one after it, which is the first of the list
	k.waits("\nsecond ", "!3 paths")
	k.show(pathNamed("first", healthy))
	k.waits("second is no longer there")
	k.types(escapeIt)
	k.waits("\nfirst ", "!no longer there", "!Enter open")
	k.types("\r1\t")
	k.show()
	k.waits(noPath)
}

func TestKeysScrollAndHelp(t *testing.T) {
	k := viewOn(t, 60, 12)
	long := pathNamed("only", lossy)
	long.Verdict.Line = strings.Repeat("many words ", 100)
	k.show(long)
	k.waits("\nonly", "lines 1-11 of", "q quit  ? keys")
	k.types(endKey)
	k.waits("!\nonly", "!lines 1-")
	k.types(homeKey + "j")
	k.waits("lines 2-12 of", "!\nonly")
	k.types(upKey)
	k.waits("lines 1-11 of", "\nonly")
	k.types("?")
	k.waits("Keys", "Shift-Tab", "any key goes back", "!\nonly")
	k.types("\x1b[6~")
	k.waits("Signs")
	k.types("x")
	k.waits("\nonly", "!Signs")
	k.term.SetSize(vt.Coord{X: 80, Y: 20})
	k.waits("all shown", "\nonly")
}

// A picture that is held does not move; what came meanwhile is there after it.
func TestAPictureIsHeld(t *testing.T) {
	k := viewOn(t, 80, 24)
	k.show(pathNamed("a path", healthy))
	k.waits("at its ceiling")
	k.types("p")
	k.waits("held since 12:00:01", "p go on")
	next := pathNamed("a path", lossy)
	next.Events = []watch.Event{{At: next.At, Path: "a path", From: healthy, To: lossy}}
	for range 3 { // the third has come when the second is drawn
		k.show(next)
	}
	if text := k.text(); !strings.Contains(text, "at its ceiling") || strings.Contains(text, "path-loss") {
		t.Errorf("%s", text)
	}
	k.types(" ")
	k.waits("path-loss at path", "!held since", "What changed", "before: at its ceiling")
}

// Many paths are a list alone; one that is far down it is found, opened, and gets a timeline.
func TestAThousandPathsAreAList(t *testing.T) {
	k := viewOn(t, 80, 24)
	var all []watch.Picture
	for i := range 1000 {
		all = append(all, pathNamed(fmt.Sprintf("path %d", i), healthy))
	}
	k.show(all...)
	k.waits("1000 paths", "lines 1-23 of 1003", "  9 path 8 ", "    path 9 ")
	k.types(backTab)
	k.waits("    path 999 ", "of 1003")
	k.types("\r")
	k.waits("\npath 999 ", "!path 998")
	for range 6 {
		all = slices.Clone(all) // what was handed over is the view's
		for i := range all {
			all[i].At = all[i].At.Add(time.Second)
		}
		k.show(all...)
	}
	k.waits("shown    ")
	k.types(escapeIt)
	k.waits("    path 999 ", "    path 998 ")
}

func TestAnyEndOfAViewEndsIt(t *testing.T) {
	for name, ends := range map[string]func(*keyed){
		"q":           func(k *keyed) { k.types("q") },
		"Ctrl-C":      func(k *keyed) { k.types("\x03") },
		"a signal":    func(k *keyed) { k.screen.quit() },
		"in the help": func(k *keyed) { k.types("?\x03") },
		"held":        func(k *keyed) { k.types("pq") },
	} {
		k := viewOn(t, 80, 24)
		k.show(pathNamed("a path", healthy))
		ends(k)
		select {
		case <-k.screen.gone:
		case <-time.After(time.Minute):
			t.Fatalf("%s does not end it", name)
		}
		if err := k.screen.show(nil); !errors.Is(err, errSeen) || k.ctx.Err() == nil {
			t.Errorf("%s: %v %v", name, err, k.ctx.Err())
		}
	}
}

// What a recording ends with stays until somebody has seen it.
func TestTheEndOfARecordingStays(t *testing.T) {
	k := viewOn(t, 80, 24)
	k.show(pathNamed("a path", healthy))
	over := make(chan struct{})
	go func() {
		defer close(over)
		k.screen.stay()
	}()
	k.waits("the recording is over", "a path", "q quit")
	k.types("q")
	<-over
}

func TestHostileNamesOnATerminalWithKeys(t *testing.T) {
	k := viewOn(t, 60, 20)
	bad := "\x1b[2J\x1b]0;title\x07\u202e" + strings.Repeat("北京", 40) + "\r\n\x9b31m"
	p := pathNamed(bad, lossy)
	p.Hosts[0].Name = bad
	k.show(p, pathNamed("b", healthy))
	k.waits("2 paths, 1 held back", "  1 ", "  2 b ", "12:00:01", "q quit")
	k.types("1")
	k.waits("Esc back", "12:00:01", "!2 paths")
	k.show(pathNamed("b", healthy))
	k.waits("is no longer there", "Esc back")
	if k.term.GetTitle() != "" {
		t.Error("a host's name is the title")
	}
}
