package mover

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/move"
	"linerate/internal/move/wire"
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

// A target's mover that is told with its task what to open says so at once, with its pin, and copies.
func TestATargetOpensWhatItsTaskSays(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(filepath.Join(src, "a"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	run, secret, err := wire.Draw()
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, Task{Read: move.Raws([]string{src + "/"}), Run: run, Secret: secret})
	sr := s.until(Ready)
	r := start(t, Task{Write: move.Raw(dst), Run: run, Secret: secret, First: &Command{Order: Open, One: sr.One, Whole: sr.Whole, At: anyPort, Peer: sr.Pin}})
	if !r.out.Scan() {
		t.Fatal("it says nothing")
	}
	var opened Event
	if err := json.Unmarshal(r.out.Bytes(), &opened); err != nil || opened.Kind != Opened || !opened.New || !opened.Addr.IsValid() {
		t.Fatalf("it says first %s, %v", r.out.Bytes(), err)
	}
	s.send(Command{Order: Open, As: opened.As})
	s.until(Opened)
	s.send(Command{Order: Dial, At: opened.Addr, Peer: opened.Pin, New: opened.New})
	ended := make(chan Event, 1)
	go func() { ended <- r.until(Over) }()
	if s.until(Over); (<-ended).Work.Moved.Files != 1 {
		t.Error("the file did not arrive")
	}
}
