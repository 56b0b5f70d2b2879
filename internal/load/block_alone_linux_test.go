package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

func blockSpecOf(t *testing.T, filled bool) Spec {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target")
	data := make([]byte, unit.MiB)
	for i := range data {
		data[i] = byte(i)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if !filled {
		if err := os.Truncate(path, 4<<20); err != nil {
			t.Fatal(err)
		}
	}
	s := aloneSpec(Block, nil)
	s.Warmup = 50 * time.Millisecond
	s.Block = &BlockSpec{Path: path, Pattern: shape.Random, Read: 100, Sizes: []shape.SizeShare{{Size: 4 * unit.KiB, Share: 1}}, Threads: 2, Depth: 2, Seed: 5}
	return s
}

func TestBlockCountsItsRequests(t *testing.T) {
	up, r := workAlone(t, blockSpecOf(t, true))
	if up.Alone == nil || up.Alone.Size != 1<<20 || !strings.Contains(up.Alone.Method, "4 at once, through the page cache") {
		t.Errorf("prepared %+v", up.Alone)
	}
	b := r.Block
	if b == nil || b.Summary.Requests < 1 || b.Summary.IOPS <= 0 || b.Summary.Latency == nil || b.Summary.Failed > 0 || len(b.Seconds) == 0 {
		t.Fatalf("%+v", r)
	}
	// What is counted begins after the warm-up; what was out at the end is in one of
	// the two figures.
	if off := r.Bytes - b.Summary.Requests*4096; max(off, -off) > 4*4096 || r.Window > 400*time.Millisecond {
		t.Errorf("%d requests, %d bytes in %v", b.Summary.Requests, r.Bytes, r.Window)
	}
}

// What would be destroyed, or was never written, is refused before anything is
// done.
func TestBlockRefuses(t *testing.T) {
	holes, writes, missing := blockSpecOf(t, false), blockSpecOf(t, true), blockSpecOf(t, true)
	writes.Block.Read = 50
	missing.Block.Path += "x"
	for want, s := range map[string]Spec{"never written": holes, "name the file a second time": writes, "no such file": missing} {
		p := startWorker(t, s, defaultLimits())
		if e := <-p.events; e.Kind != Failed || !strings.Contains(e.Error, want) {
			t.Errorf("event %q %q, want an error with %q", e.Kind, e.Error, want)
		}
		wantError(t, p.end(), want)
	}
	writes.Block.Destroy = writes.Block.Path
	if _, r := workAlone(t, writes); r.Block == nil || r.Block.Summary.Requests == 0 {
		t.Errorf("named twice: %+v", r)
	}
}

func TestBlockSpecsAreChecked(t *testing.T) {
	for want, edit := range map[string]func(*Spec){
		"no absolute path": func(s *Spec) { s.Block.Path = "x" },
		"0 to 100":         func(s *Spec) { s.Block.Read = 101 },
		"0 threads":        func(s *Spec) { s.Block.Threads = 0 },
		"needs a file":     func(s *Spec) { s.Block = nil },
		"of warm-up":       func(s *Spec) { s.Warmup = s.Duration },
		"makes no requests": func(s *Spec) {
			s.Role, s.Warmup = Copy, 0
		},
	} {
		s := blockSpecOf(t, true)
		edit(&s)
		wantError(t, s.Check(), want)
	}
}
