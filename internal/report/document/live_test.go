package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestLivePagesReplaceEachOther(t *testing.T) {
	var b bytes.Buffer
	l := NewScreen(&b).Live()
	if err := l.Close(); err != nil || b.Len() > 0 {
		t.Errorf("closed before it drew: %q %v", b.String(), err)
	}
	page := func(n int) (d Document) {
		for i := range n {
			d.Lead = append(d.Lead, Block{Text: fmt.Sprintf("line %d of a host\x1b[2J", i)})
		}
		return d
	}
	for _, n := range []int{2, 30, 1} {
		b.Reset()
		if err := l.Draw(page(n), false, 60, 10); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if lines := strings.Count(got, "\r\n") + 1; lines != min(n, 10) {
			t.Errorf("of %d lines %d are drawn", n, lines)
		}
		if n > 10 != strings.Contains(got, "… 21 lines more than this terminal shows") {
			t.Errorf("%q", got)
		}
		if strings.Contains(got, "\x1b[2J") {
			t.Errorf("a host's own escape came through: %q", got)
		}
		if first := strings.HasPrefix(got, liveOpen); first != (n == 2) {
			t.Errorf("the second screen is opened: %v", first)
		}
		if last := got[strings.LastIndex(got, "\r\n")+1:]; !strings.Contains(last, eraseRest) {
			t.Errorf("what was below is left: %q", got)
		}
	}
	b.Reset()
	if err := l.Close(); err != nil || b.String() != liveClose {
		t.Errorf("%q %v", b.String(), err)
	}
}

// While the user has stopped the program the terminal is as it was; after that the picture is there again.
func TestLiveGivesTheTerminalBackWhileItIsStopped(t *testing.T) {
	var b bytes.Buffer
	l := NewScreen(&b).Live()
	d := Document{Lead: []Block{{Text: "a line"}}}
	if err := l.Draw(d, false, 60, 10); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	stopped := ""
	if err := l.Suspend(func() { stopped = b.String() }); err != nil || stopped != liveClose {
		t.Errorf("stopped after %q: %v", stopped, err)
	}
	b.Reset()
	if err := l.Draw(d, false, 60, 10); err != nil || !strings.HasPrefix(b.String(), liveOpen) {
		t.Errorf("after that %q: %v", b.String(), err)
	}
}

// Nothing is erased after a line: with one as wide as the terminal that would take its last character,
// and of "61%" leave "61".
func TestLiveKeepsTheLastColumn(t *testing.T) {
	var b bytes.Buffer
	l := NewScreen(&b).Live()
	l.More = "; say how"
	full := strings.Repeat("x", 59) + "%"
	for _, n := range []int{1, 3, 9} {
		b.Reset()
		var d Document
		for range n {
			d.Lead = append(d.Lead, Block{Text: full})
		}
		if err := l.Draw(d, false, 60, 5); err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(b.String(), "\r\n") {
			if !strings.HasSuffix(line, full) && !strings.HasSuffix(line, "… 5 lines more than this terminal shows; say how") {
				t.Errorf("something follows a line of the terminal's width: %q", line)
			}
		}
	}
}

// A name that is longer than a line stands on one line: if the terminal wrapped it, the page would be
// longer than the terminal, and its beginning would be lost.
func TestLiveKeepsTheTerminalFromWrapping(t *testing.T) {
	const wraps, wrapsNot = "\x1b[?7h", "\x1b[?7l"
	if !strings.Contains(liveOpen, wrapsNot) || !strings.HasPrefix(liveClose, wraps) {
		t.Errorf("%q %q", liveOpen, liveClose)
	}
}
