package block

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

func fileOf(t *testing.T, size unit.Bytes) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whichever way requests reach the target, all of them arrive: a pass that
// writes each block once leaves every sector with its own stamp.
func TestEveryEngineWritesWhatItSays(t *testing.T) {
	for _, e := range []Engine{Ring, Calls} {
		for _, threads := range []int{1, 3} {
			s := spec()
			s.Path, s.Engine, s.Threads = fileOf(t, unit.MiB+100), e, threads
			s.Shape.Area, s.Shape.Pattern, s.Shape.Read = 0, shape.Once, 0
			s.Shape.Sizes[0].Size, s.Seed, s.Duration, s.Requests = 16*unit.KiB, 77, time.Minute, 64
			target, s, err := Open(s, s.Path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(context.Background(), s, target)
			if err != nil {
				t.Fatal(err)
			}
			if err := target.Close(); err != nil {
				t.Error(err)
			}
			if r.Engine != e || r.Writes != 64 || r.WrittenBytes != r.Writes*16384 || r.Reads != 0 || r.Failed != 0 {
				t.Fatalf("%s: %+v", e, r)
			}
			checkStamps(t, s)
		}
	}
}

func checkStamps(t *testing.T, s Spec) {
	t.Helper()
	b, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Stamp]bool{}
	for at := 0; at < len(b)/16384*16384; at += sector {
		stamp, ok := ReadStamp(b[at:])
		if !ok || stamp.Run != 77 || stamp.Address != uint64(at) || seen[stamp] {
			t.Fatalf("%s at %d: %+v, %v", s.Engine, at, stamp, ok)
		}
		seen[stamp] = true
	}
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(b[:unit.MiB]); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() < int(unit.MiB)*98/100 {
		t.Errorf("%s: a MiB of what was written packs into %d bytes", s.Engine, packed.Len())
	}
}

func TestRateIsKept(t *testing.T) {
	s := spec()
	s.Path, s.Duration, s.Threads = fileOf(t, unit.MiB), time.Second, 2
	s.Shape.Arrivals, s.Shape.Rate = shape.Exponential, 500
	target, s, err := Open(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := Run(context.Background(), s, target)
	if err != nil {
		t.Fatal(err)
	}
	// All that were due count, however late they ended: 500 within 5 deviations.
	if n := r.ReadLatency.Count(); n < 390 || n > 610 {
		t.Errorf("%d requests at 500/s in a second", n)
	}
}

// A mistake of the target is located, and the run goes on.
func TestFailuresAreLocated(t *testing.T) {
	s := spec()
	s.Path, s.Duration, s.Shape.Pattern = fileOf(t, unit.MiB), 200*time.Millisecond, shape.Sequential
	target, s, err := Open(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if err := os.Truncate(s.Path, int64(unit.MiB)-100); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), s, target)
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed == 0 || len(r.Failures) == 0 || r.Reads == 0 {
		t.Fatalf("%d failed, %d kept, %d reads", r.Failed, len(r.Failures), r.Reads)
	}
	want := Failure{Offset: int64(unit.MiB) - 4096, Moved: 4096 - 100}
	if r.Failures[0] != want {
		t.Errorf("%+v, want %+v", r.Failures[0], want)
	}
}

func TestCancelEndsTheRun(t *testing.T) {
	s := spec()
	s.Engine, s.Duration = Null, time.Hour
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, s, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, change := range map[string]func(*Spec){
		"no such file": func(s *Spec) { s.Path = filepath.Join(dir, "none") },
		"neither a":    func(s *Spec) { s.Path = dir },
		"too short":    func(s *Spec) { s.Shape.Area = 2 * unit.MiB },
		"is too short": func(s *Spec) { s.From, s.Shape.Area = unit.MiB, 0 },
		"block device": func(s *Spec) { s.Path = "/dev/null" },
	} {
		s := spec()
		s.Path = fileOf(t, unit.MiB)
		change(&s)
		if target, _, err := Open(s, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v", want, target, err)
		}
	}
	for want, change := range map[string]func(*Spec){
		"0 threads":          func(s *Spec) { s.Threads = 0 },
		"in flight":          func(s *Spec) { s.Depth = 5000 },
		"positive time":      func(s *Spec) { s.Duration = 0 },
		"every 0 writes":     func(s *Spec) { s.Sync = After },
		"no file or device":  func(s *Spec) { s.Path = "" },
		"engine \"steam\"":   func(s *Spec) { s.Engine = "steam" },
		"sync \"sometimes\"": func(s *Spec) { s.Sync = "sometimes" },
		"begins at -1":       func(s *Spec) { s.From = -1 },
	} {
		s := spec()
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
