package mover

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"linerate/internal/move/movetest"
	"linerate/internal/move/wire"
)

// end is a mover in this process.
type end struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
}

func start(t *testing.T, task Task) *end {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	e := &end{t, inW, bufio.NewScanner(outR), make(chan error, 1)}
	e.out.Buffer(nil, MaxEvent)
	go func() {
		e.done <- Main(context.Background(), inR, outW)
		_ = outW.Close()
	}()
	t.Cleanup(func() { _ = inW.Close(); _, _ = io.Copy(io.Discard, outR) })
	task.V = Version
	e.send(task)
	return e
}

func (e *end) send(v any) {
	e.t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.in.Write(append(b, '\n')); err != nil {
		e.t.Fatal(err)
	}
}

// until waits for an event of this kind.
func (e *end) until(k Kind) Event {
	e.t.Helper()
	for e.out.Scan() {
		var v Event
		if err := json.Unmarshal(e.out.Bytes(), &v); err != nil {
			e.t.Fatal(err)
		}
		if v.Kind == k {
			return v
		}
		if v.Kind == Failed || v.Kind == Over {
			e.t.Fatalf("%s: %s, while waiting for %s", v.Kind, v.Text, k)
		}
	}
	e.t.Fatal("it ended without", k)
	return Event{}
}

var anyPort = netip.MustParseAddrPort("127.0.0.1:0")

// copyBetween has two movers copy.
func copyBetween(t *testing.T, from, to Task) (sent, got Event) {
	t.Helper()
	run, secret, err := wire.Draw()
	if err != nil {
		t.Fatal(err)
	}
	from.Run, from.Secret, to.Run, to.Secret = run, secret, run, secret
	s, r := start(t, from), start(t, to)
	sr, rr := s.until(Ready), r.until(Ready)
	r.send(Command{Order: Open, One: sr.One})
	s.send(Command{Order: Open, As: r.until(Opened).As})
	s.until(Opened)
	r.send(Command{Order: Listen, At: anyPort, Peer: sr.Pin})
	s.send(Command{Order: Dial, At: r.until(Listening).Addr, Peer: rr.Pin})
	ended := make(chan Event, 1)
	go func() { ended <- r.until(Over) }()
	return s.until(Over), <-ended
}

func TestTwoMoversCopyATree(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "new")
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB
	for name, data := range map[string][]byte{"a": []byte("x"), "large": large, "-rf\n\xff": nil} {
		if err := os.WriteFile(filepath.Join(src, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sent, got := copyBetween(t, Task{Read: []string{src + "/"}}, Task{Write: dst})
	if got.Work.Moved.Files != 3 || got.Work.Moved.Bytes != int64(len(large)+1) || sent.Work.Sent < int64(len(large)) {
		t.Errorf("sent %+v, received %+v", sent.Work, got.Work)
	}
	for name, data := range map[string][]byte{"a": []byte("x"), "large": large, "-rf\n\xff": nil} {
		if b, err := os.ReadFile(filepath.Join(dst, name)); err != nil || !bytes.Equal(b, data) {
			t.Errorf("%q: %d bytes, %v", name, len(b), err)
		}
	}
	// One file takes the target's name where no directory has it.
	copyBetween(t, Task{Read: []string{filepath.Join(src, "a")}, Plain: true}, Task{Write: filepath.Join(dst, "b"), Plain: true})
	if b, err := os.ReadFile(filepath.Join(dst, "b")); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

// What copies are known to lose arrives, also by the wire; a second copy finds
// it there.
func TestAHostileTreeArrivesAsItIs(t *testing.T) {
	for name, task := range map[string]Task{"fast": {}, "full, plain": {Full: true, Plain: true, Buffered: true}} {
		src, dst := t.TempDir(), filepath.Join(t.TempDir(), "dst")
		movetest.Hostile(t, src)
		if err := os.WriteFile(filepath.Join(src, "huge"), movetest.Pattern(70<<20+4099, 5), 0o600); err != nil {
			t.Fatal(err)
		}
		from, to := task, task
		from.Read, to.Write, to.Setuid = []string{src + "/"}, dst, true
		_, got := copyBetween(t, from, to)
		movetest.Same(t, src, dst)
		if m := got.Work.Moved; m.HardLinks != 2 || m.Symlinks != 4 || m.Same != 0 || movetest.Allocated(t, filepath.Join(dst, "sparse")) > 1<<20 {
			t.Errorf("%s: %+v", name, m)
		}
		_, got = copyBetween(t, from, to)
		movetest.Same(t, src, dst)
		// With full what is there is not believed, and written again.
		if m := got.Work.Moved; !task.Full && (m.Files != 0 || m.Bytes != 0) {
			t.Errorf("%s, again: %+v", name, m)
		}
	}
}

func TestMemoryMovesWithoutFiles(t *testing.T) {
	sent, got := copyBetween(t, Task{Mem: 300 * time.Millisecond, Send: true, Streams: 2}, Task{Mem: 300 * time.Millisecond})
	if sent.Work.Sent == 0 || sent.Work.Sent != got.Work.Received || got.Work.Streams != 2 {
		t.Errorf("sent %+v, received %+v", sent.Work, got.Work)
	}
}

func TestAMoverWhosePortIsBlockedIsToldToListen(t *testing.T) {
	run, secret, err := wire.Draw()
	if err != nil {
		t.Fatal(err)
	}
	task := Task{Mem: 100 * time.Millisecond, Run: run, Secret: secret}
	r := start(t, task)
	task.Send = true
	s := start(t, task)
	sr, rr := s.until(Ready), r.until(Ready)
	r.send(Command{Order: Listen, At: anyPort, Peer: sr.Pin})
	r.until(Listening)
	s.send(Command{Order: Dial, At: netip.MustParseAddrPort("127.0.0.1:1"), Peer: rr.Pin})
	s.until(Unreached)
	s.send(Command{Order: Listen, At: anyPort, Peer: rr.Pin})
	r.send(Command{Order: Dial, At: s.until(Listening).Addr, Peer: sr.Pin})
	ended := make(chan Event, 1)
	go func() { ended <- r.until(Over) }()
	s.until(Over)
	<-ended
}

func TestAMoverEndsWithItsInput(t *testing.T) {
	e := start(t, Task{Mem: time.Minute})
	e.until(Ready)
	e.send(Command{Order: Listen, At: anyPort})
	e.until(Listening)
	_ = e.in.Close()
	if err := <-e.done; err != nil {
		t.Error(err)
	}
}

func TestTasksAreChecked(t *testing.T) {
	for _, line := range []string{
		`{}`, `{"v":1}`, `{"v":2,"write":"/x"}`, `{"v":1,"write":"x"}`, `{"v":1,"read":["x"]}`, `{"v":1,"read":["/x"],"write":"/y"}`,
		`{"v":1,"write":"/x","shell":"rm"}`, `{"v":1,"write":"/x","streams":99}`, `{"v":1,"write":"/x"} {}`, `{"v":1,"write":"/x","send":true}`,
		`{"v":1,"mem_ns":-1}`, `{"v":1,"write":"/x","limit":-1}`,
	} {
		if _, err := DecodeTask([]byte(line)); err == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}
