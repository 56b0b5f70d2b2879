package mover

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/move"
)

// A target says whether it holds nothing of what is copied. A source that believes so sends what
// came to lie there meanwhile too, and the target keeps what it has.
func TestATargetThatIsNewIsNotAskedWhatItHas(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	const size = 100000
	if err := os.WriteFile(filepath.Join(src, "a"), bytes.Repeat([]byte("x"), size), 0o644); err != nil {
		t.Fatal(err)
	}
	from, to := Task{Read: move.Raws([]string{src + "/"})}, Task{Write: move.Raw(dst)}
	for _, c := range []struct {
		name  string
		isNew bool // by what it holds
		told  bool // whatever it holds
		sent  bool
		kept  int64
	}{{"new", true, false, true, 0}, {"not new", false, false, false, 1}, {"not new any more", false, true, true, 1}} {
		r := start(t, Task{Write: to.Write, Do: Planning})
		r.until(Ready)
		r.send(Command{Order: Open, Whole: []move.Raw{""}})
		if got := r.until(Opened).New; got != c.isNew {
			t.Errorf("%s: new: %v", c.name, got)
		}
		sent, got := copyTold(t, from, to, c.told)
		if (sent.Work.Sent >= size) != c.sent || got.Work.Moved.Same != c.kept {
			t.Errorf("%s: %d bytes sent, %d files kept", c.name, sent.Work.Sent, got.Work.Moved.Same)
		}
	}
}
