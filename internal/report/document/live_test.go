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
		if !strings.HasSuffix(got, eraseLine+eraseRest) {
			t.Errorf("what was below is left: %q", got)
		}
	}
	b.Reset()
	if err := l.Close(); err != nil || b.String() != liveClose {
		t.Errorf("%q %v", b.String(), err)
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
