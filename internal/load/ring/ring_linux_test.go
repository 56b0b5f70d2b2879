package ring

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rig is a ring over one file and some buffers.
type rig struct {
	*Ring
	file *os.File
	mem  []byte
}

const part = 4096

func newRig(t *testing.T, depth, buffers int) *rig {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	r, err := New(depth)
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "file"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	mem, err := Memory(buffers * part)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.Close(), f.Close(), Free(mem)); err != nil {
			t.Error(err)
		}
	})
	if err := errors.Join(r.RegisterFiles([]int32{int32(f.Fd())}), r.RegisterBuffers([][]byte{mem})); err != nil {
		t.Fatal(err)
	}
	return &rig{r, f, mem}
}

// run pushes the operations and returns their results by tag.
func (r *rig) run(t *testing.T, ops ...Op) map[uint64]int32 {
	t.Helper()
	for _, o := range ops {
		if !r.Push(o) {
			t.Fatalf("no room for %+v", o)
		}
	}
	got := map[uint64]int32{}
	for len(got) < len(ops) {
		if err := r.Enter(1, time.Minute); err != nil {
			t.Fatal(err)
		}
		for c, ok := r.Next(); ok; c, ok = r.Next() {
			if _, twice := got[c.Tag]; twice {
				t.Fatalf("tag %d completes twice", c.Tag)
			}
			got[c.Tag] = c.Result
		}
	}
	return got
}

func TestWriteSyncRead(t *testing.T) {
	r := newRig(t, 8, 4)
	for i := range r.mem[:part] {
		r.mem[i] = byte(i * 7)
	}
	got := r.run(t, Op{Kind: Write, Len: part, Offset: 3 * part, Tag: 1})
	if got[1] != part {
		t.Fatalf("write: %d", got[1])
	}
	got = r.run(t, Op{Kind: Fsync, Tag: 2}, Op{Kind: Fdatasync, Tag: 3}, Op{Tag: 4},
		Op{Kind: Read, From: part, Len: part, Offset: 3 * part, Tag: 5})
	if got[2] != 0 || got[3] != 0 || got[4] != 0 || got[5] != part {
		t.Fatalf("results %v", got)
	}
	if !bytes.Equal(r.mem[:part], r.mem[part:2*part]) {
		t.Error("what was read is not what was written")
	}
	b := make([]byte, part)
	if _, err := r.file.ReadAt(b, 3*part); err != nil || !bytes.Equal(b, r.mem[:part]) {
		t.Errorf("the file has something else, %v", err)
	}
}

// Errors come back as they are: beyond the end nothing is read, and a file that
// is not registered is refused.
func TestResults(t *testing.T) {
	r := newRig(t, 8, 1)
	got := r.run(t, Op{Kind: Read, Len: part, Offset: 1 << 30, Tag: 1}, Op{Kind: Read, File: 5, Len: part, Tag: 2},
		Op{Kind: Read, Len: part, Offset: -2, Tag: 3})
	if got[1] != 0 || got[2] != -int32(unix.EBADF) || got[3] != -int32(unix.EINVAL) {
		t.Errorf("results %v", got)
	}
}

// A full queue says so, and nothing of it is lost when it goes round many times.
func TestQueueGoesRound(t *testing.T) {
	r := newRig(t, 4, 1)
	seen := map[uint64]bool{}
	next := uint64(0)
	for len(seen) < 10_000 {
		for next < 10_000 && r.Push(Op{Tag: next}) {
			next++
		}
		if err := r.Enter(1, time.Minute); err != nil {
			t.Fatal(err)
		}
		for n := r.Arrived(); n > 0; n-- {
			c, ok := r.Next()
			if !ok || c.Result != 0 || seen[c.Tag] {
				t.Fatalf("completion %+v, %v", c, ok)
			}
			seen[c.Tag] = true
		}
	}
	for range 4 {
		if !r.Push(Op{}) {
			t.Fatal("an empty queue has no room for its depth")
		}
	}
	if r.Push(Op{}) {
		t.Error("a full queue took one more")
	}
}

// A wait ends when its time is over, with what was pushed submitted.
func TestWaitEnds(t *testing.T) {
	r := newRig(t, 4, 1)
	if err := r.Enter(1, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if n := r.Arrived(); n != 0 {
		t.Errorf("%d completions of nothing", n)
	}
	r.Push(Op{Tag: 1})
	r.Push(Op{Tag: 2})
	if err := r.Enter(3, time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if n := r.Arrived(); n != 2 {
		t.Errorf("%d of 2 have arrived", n)
	}
	for range 2 {
		r.Next()
	}
	if got := r.run(t, Op{Tag: 3}); len(got) != 1 {
		t.Errorf("after a wait that ended: %v", got)
	}
}

func TestNoGarbage(t *testing.T) {
	r := newRig(t, 8, 1)
	if n := testing.AllocsPerRun(1000, func() {
		r.Push(Op{Kind: Read, Len: part})
		if err := r.Enter(1, time.Minute); err != nil {
			t.Fatal(err)
		}
		r.Next()
	}); n != 0 {
		t.Errorf("%v allocations per operation", n)
	}
}

func TestRefuses(t *testing.T) {
	if _, err := New(0); err == nil {
		t.Error("a ring of nothing")
	}
	r := newRig(t, 1, 1)
	for name, err := range map[string]error{
		"no files": r.RegisterFiles(nil), "no buffers": r.RegisterBuffers(nil), "empty buffer": r.RegisterBuffers([][]byte{{}}),
		"a closed file": r.RegisterFiles([]int32{9999}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an operation beyond its buffer was queued")
		}
	}()
	r.Push(Op{Kind: Read, From: part, Len: 1})
}
