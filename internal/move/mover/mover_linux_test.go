package mover

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/move"
	"linerate/internal/move/compare"
	"linerate/internal/move/movetest"
	"linerate/internal/move/route"
	"linerate/internal/move/wire"
)

// end is a mover in this process.
type end struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error

	lost  []Loss
	steps []Step
}

func start(t *testing.T, task Task) *end {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	e := &end{t: t, in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
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

// until waits for an event of this kind, and keeps what it passes.
func (e *end) until(k Kind) Event {
	e.t.Helper()
	for e.out.Scan() {
		var v Event
		if err := json.Unmarshal(e.out.Bytes(), &v); err != nil {
			e.t.Fatal(err)
		}
		e.lost, e.steps = append(e.lost, v.Losses...), append(e.steps, v.Steps...)
		if v.Kind == k {
			v.Losses, v.Steps = e.lost, e.steps
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
	return copyTold(t, from, to, false)
}

// copyTold does so, and may tell the source that the target is new, whatever that says.
func copyTold(t *testing.T, from, to Task, told bool) (sent, got Event) {
	t.Helper()
	run, secret, err := wire.Draw()
	if err != nil {
		t.Fatal(err)
	}
	from.Run, from.Secret, to.Run, to.Secret = run, secret, run, secret
	s, r := start(t, from), start(t, to)
	sr, rr := s.until(Ready), r.until(Ready)
	r.send(Command{Order: Open, One: sr.One, Whole: sr.Whole})
	opened := r.until(Opened)
	s.send(Command{Order: Open, As: opened.As, New: opened.New})
	s.until(Opened)
	r.send(Command{Order: Listen, At: anyPort, Peer: sr.Pin})
	s.send(Command{Order: Dial, At: r.until(Listening).Addr, Peer: rr.Pin, New: told})
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
	sent, got := copyBetween(t, Task{Read: move.Raws([]string{src + "/"})}, Task{Write: move.Raw(dst)})
	if got.Work.Moved.Files != 3 || got.Work.Moved.Bytes != int64(len(large)+1) || sent.Work.Sent < int64(len(large)) {
		t.Errorf("sent %+v, received %+v", sent.Work, got.Work)
	}
	for name, data := range map[string][]byte{"a": []byte("x"), "large": large, "-rf\n\xff": nil} {
		if b, err := os.ReadFile(filepath.Join(dst, name)); err != nil || !bytes.Equal(b, data) {
			t.Errorf("%q: %d bytes, %v", name, len(b), err)
		}
	}
	// One file takes the target's name where no directory has it.
	copyBetween(t, Task{Read: move.Raws([]string{filepath.Join(src, "a")}), Plain: true}, Task{Write: move.Raw(filepath.Join(dst, "b")), Plain: true})
	if b, err := os.ReadFile(filepath.Join(dst, "b")); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

// Names are bytes on the command line too: what is no UTF-8 is copied under its name, and not
// another file that JSON's text would make of it.
func TestPathsAreBytes(t *testing.T) {
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "to\xfe")
	for name, content := range map[string]string{"in\xff": "right", "in\ufffd": "wrong", "d\xff/in": "below", "d\ufffd/in": "wrong"} {
		movetest.Write(t, filepath.Join(src, name), content)
	}
	if err := os.Mkdir(dst, 0o755); err != nil {
		t.Fatal(err)
	}
	copyBetween(t, Task{Read: move.Raws([]string{src + "/in\xff", src + "/d\xff"})}, Task{Write: move.Raw(dst)})
	copyBetween(t, Task{Read: move.Raws([]string{src + "/in\xff"})}, Task{Write: move.Raw(dst + "/as\xfd")})
	for name, content := range map[string]string{"in\xff": "right", "as\xfd": "right", "d\xff/in": "below"} {
		if b, err := os.ReadFile(filepath.Join(dst, name)); err != nil || string(b) != content {
			t.Errorf("%q: %q, %v", name, b, err)
		}
	}
	if got := movetest.Describe(t, dst); len(got) != 5 { // the target itself is one
		t.Errorf("%q", got)
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
		from.Read, to.Write, to.Setuid = []move.Raw{move.Raw(src + "/")}, move.Raw(dst), true
		_, got := copyBetween(t, from, to)
		movetest.Same(t, src, dst)
		if m := got.Work.Moved; m.HardLinks != 2 || m.Symlinks != 4 || m.Same != 0 || movetest.Allocated(t, filepath.Join(dst, "sparse")) > 1<<20 {
			t.Errorf("%s: %+v", name, m)
		}
		_, got = copyBetween(t, from, to)
		movetest.Same(t, src, dst)
		// With full what is there is not believed, and written again.
		if m := got.Work.Moved; !task.Full && (m.Files != 0 || m.Bytes != 0 || got.Work.Received != 0) {
			t.Errorf("%s, again: %+v", name, m)
		}
	}
}

// A plan says what the copy then does, deletions included, and neither a plan nor a
// comparison changes anything.
func TestWhatIsPlannedIsDoneAndThenCompared(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	movetest.Hostile(t, src)
	movetest.Write(t, dst+"/plain", "older")
	movetest.Write(t, dst+"/gone/deep/x", "not in the source")
	movetest.Write(t, dst+"/new\nlines\xff", "not in the source")
	movetest.Write(t, dst+"/kept.tmp", "excluded")
	before := movetest.Describe(t, dst)
	from := Task{Read: move.Raws([]string{src + "/"}), Exclude: []move.Raw{"*.tmp"}}
	to := Task{Write: move.Raw(dst), Delete: true, MaxDelete: 4}
	from.Do, to.Do = Planning, Planning
	_, plan := copyBetween(t, from, to)
	movetest.Equal(t, before, movetest.Describe(t, dst))
	do := map[string]int64{}
	for _, s := range plan.Steps {
		do[s.Do]++
	}
	from.Do, to.Do, to.Delete = Comparing, Comparing, false
	_, differs := copyBetween(t, from, to)
	movetest.Equal(t, before, movetest.Describe(t, dst))
	if len(differs.Losses) < 10 {
		t.Errorf("compared before the copy: %+v", differs.Losses)
	}
	from.Do, to.Do, to.Delete = Copying, Copying, true
	_, done := copyBetween(t, from, to)
	m := done.Work.Moved
	if do["delete"] != 4 || m.Deleted != 4 || do["replace"] != 1 || plan.Work.Moved.Files != m.Files || plan.Work.Moved.HardLinks != m.HardLinks {
		t.Errorf("planned %v, %+v; done %+v", do, plan.Work.Moved, m)
	}
	if _, err := os.Stat(dst + "/kept.tmp"); err != nil {
		t.Error(err)
	}
	st, err := os.Stat(dst)
	if err == nil {
		err = errors.Join(os.Remove(dst+"/kept.tmp"), os.Chtimes(dst, time.Time{}, st.ModTime()))
	}
	if err != nil {
		t.Fatal(err)
	}
	movetest.Same(t, src, dst)
	from.Do, to.Do, to.Delete = Comparing, Comparing, false
	_, same := copyBetween(t, from, to)
	if len(same.Losses) != 0 || same.Work.Moved.Files == 0 || same.Work.Received > 1<<20 {
		t.Errorf("compared after the copy: %+v, %+v", same.Losses, same.Work)
	}
	// One byte within a hole, and one in the data.
	for name, at := range map[string]int64{"sparse": 1 << 20, "plain": 0} {
		f, err := os.OpenFile(filepath.Join(dst, name), os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		st, err := f.Stat()
		if err == nil {
			_, err = f.WriteAt([]byte{0xff}, min(at, st.Size()-1))
		}
		if err = errors.Join(err, os.Chtimes(f.Name(), time.Time{}, st.ModTime()), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	_, one := copyBetween(t, from, to)
	if len(one.Losses) != 2 || one.Losses[0].What != compare.Content || one.Losses[1].What != compare.Content {
		t.Errorf("two bytes differ: %+v", one.Losses)
	}
}

func TestMoreThanMayBeDeletedDeletesNothing(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	movetest.Write(t, dst+"/a", "1")
	movetest.Write(t, dst+"/b", "2")
	run, secret, err := wire.Draw()
	if err != nil {
		t.Fatal(err)
	}
	s, r := start(t, Task{Read: move.Raws([]string{src + "/"}), Run: run, Secret: secret}), start(t, Task{Write: move.Raw(dst), Delete: true, MaxDelete: 1, Run: run, Secret: secret})
	sr, rr := s.until(Ready), r.until(Ready)
	r.send(Command{Order: Open, Whole: sr.Whole})
	s.send(Command{Order: Open, As: r.until(Opened).As})
	s.until(Opened)
	r.send(Command{Order: Listen, At: anyPort, Peer: sr.Pin})
	s.send(Command{Order: Dial, At: r.until(Listening).Addr, Peer: rr.Pin})
	other := make(chan Event, 1)
	go func() { other <- s.until(Failed) }()
	e := r.until(Failed)
	<-other
	if !e.Usage || !strings.Contains(e.Text, "nothing was deleted") {
		t.Errorf("%+v", e)
	}
	if left, err := os.ReadDir(dst); err != nil || len(left) < 2 {
		t.Errorf("%v, %v", left, err)
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
	const right = `"run":"00000000000000000000000000000000","secret":"0000000000000000000000000000000000000000000000000000000000000000"`
	task := func(line string) []byte {
		return []byte(strings.Replace(line, `"v":0`, fmt.Sprintf(`"v":%d,%s`, Version, right), 1))
	}
	for _, line := range []string{`{"v":0,"write":"/x"}`, `{"v":0,"read":["/x"]}`, `{"v":0,"write":"/x","first":{"order":"open"}}`} {
		if _, err := DecodeTask(task(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, line := range []string{
		`{}`, `{"v":0}`, `{"v":0,"write":"/x","do":"rm"}`, `{"v":0,"read":["/x"],"delete":true}`, `{"v":0,"write":"/x","do":"compare","delete":true}`, `{"v":1,"write":"/x"}`, `{"v":0,"write":"x"}`, `{"v":0,"read":["x"]}`, `{"v":0,"read":["/x"],"write":"/y"}`,
		`{"v":0,"write":"/x","shell":"rm"}`, `{"v":0,"write":"/x","streams":99}`, `{"v":0,"write":"/x"} {}`, `{"v":0,"write":"/x","send":true}`,
		`{"v":0,"mem_ns":-1}`, `{"v":0,"write":"/x","limit":-1}`,
		`{"v":0,"write":"/x","first":{"order":"dial"}}`, `{"v":0,"read":["/x"],"first":{"order":"open"}}`,
		`{"v":0,"write":"/x","first":{"order":"open"},"spread":[{` + right + `}]}`,
	} {
		if _, err := DecodeTask(task(line)); err == nil {
			t.Errorf("%s is accepted", line)
		}
	}
}

// A target within its source, and with --delete a source within its target, are refused by the target's
// end before it makes anything, whatever the hosts are called.
func TestATargetWithinItsSourceIsRefused(t *testing.T) {
	dir := t.TempDir()
	movetest.Write(t, dir+"/t/in/x", "1")
	for name, c := range map[string]struct {
		from    string
		to      Task
		refused bool
	}{
		"within":             {"/t/", Task{Write: move.Raw(dir + "/t/new")}, true},
		"of a dry run":       {"/t/", Task{Write: move.Raw(dir + "/t/new"), Do: Planning}, true},
		"excluded":           {"/t/", Task{Write: move.Raw(dir + "/t/out"), Exclude: []move.Raw{"/out"}}, false},
		"deletes the source": {"/t/in/", Task{Write: move.Raw(dir + "/t"), Delete: true, MaxDelete: 9}, true},
		"beside":             {"/t/", Task{Write: move.Raw(dir + "/t2")}, false},
	} {
		from := Task{Read: move.Raws([]string{dir + c.from}), Do: c.to.Do, Exclude: c.to.Exclude}
		s, r := start(t, from), start(t, c.to)
		ready := s.until(Ready)
		r.until(Ready)
		r.send(Command{Order: Open, One: ready.One, Whole: ready.Whole, Lie: ready.Lie})
		kind := Opened
		if c.refused {
			kind = Failed
		}
		if e := r.until(kind); e.Usage != c.refused {
			t.Errorf("%s: %+v", name, e)
		}
		if _, err := os.Stat(dir + "/t/new"); err == nil {
			t.Errorf("%s: refused after it was made", name)
		}
	}
}

// As many directories as a copy may name tell where they lie, and the one among them that holds the target is
// found.
func TestAsManySourcesAsMayBeTellWhereTheyLie(t *testing.T) {
	dir := t.TempDir()
	var read []string
	for i := range maxPaths {
		at := fmt.Sprintf("%s/measurement-series-of-the-old-microscope/run-%06d", dir, i)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		read = append(read, at)
	}
	for name, c := range map[string]struct {
		to   string
		kind Kind
	}{"beside": {dir, Opened}, "in the last": {read[maxPaths-1], Failed}} {
		s, r := start(t, Task{Read: move.Raws(read)}), start(t, Task{Write: move.Raw(c.to + "/new")})
		ready := s.until(Ready)
		if len(ready.Lie.Spots) != maxPaths || len(ready.Lie.Left)+len(ready.Lie.Mounts) > 0 {
			t.Fatalf("%d of %d sources, left %+v", len(ready.Lie.Spots), maxPaths, ready.Lie.Left)
		}
		r.until(Ready)
		r.send(Command{Order: Open, One: ready.One, Whole: ready.Whole, Lie: ready.Lie})
		if e := r.until(c.kind); e.Usage != (c.kind == Failed) || e.Text != "" && c.kind == Opened {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// A target that was not told of all sources says so, or refuses.
func TestATargetSaysWhatItWasNotTold(t *testing.T) {
	dir := t.TempDir()
	for kernel, kind := range map[string]Kind{"another": Opened, "": Failed} {
		r := start(t, Task{Write: move.Raw(dir + "/new")})
		r.until(Ready)
		r.send(Command{Order: Open, Whole: []move.Raw{""}, Lie: route.Lie{Left: []route.Left{{Count: 3, Kernel: kernel}}}})
		if e := r.until(kind); !strings.Contains(e.Text, "of 3 sources the target was not told") || e.Usage != (kind == Failed) {
			t.Errorf("%q: %+v", kernel, e)
		}
	}
}
