package block

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab/labtest"
	"linerate/internal/load/ring"
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
	for _, c := range []struct {
		e       Engine
		threads int
	}{{Ring, 1}, {Ring, 3}, {Calls, 1}, {Calls, 3}} {
		t.Run(fmt.Sprintf("%s %d", c.e, c.threads), func(t *testing.T) {
			e, threads := c.e, c.threads
			s := spec()
			s.Path, s.Engine, s.Threads = fileOf(t, unit.MiB+100), e, threads
			s.Shape.Area, s.Shape.Pattern, s.Shape.Read = 0, shape.Once, 0
			s.Shape.Sizes[0].Size, s.Run, s.Duration, s.Requests = 16*unit.KiB, 77, time.Minute, 64
			target, s, err := Open(s, s.Path)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Run(context.Background(), s, target)
			if cerr := target.Close(); cerr != nil {
				t.Error(cerr)
			}
			if errors.Is(err, ring.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Engine != e || r.Writes != 64 || r.WrittenBytes != r.Writes*16384 || r.Reads != 0 || r.Failed != 0 {
				t.Fatalf("%s: %+v", e, r)
			}
			checkStamps(t, s)
		})
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
	// All that were due count, however late they ended, and whether they began
	// or not: so the number is the schedule's, on a machine however slow.
	want := int64(0)
	for p := range 2 {
		for w := shape.NewWalk(s.Shape, s.Seed, p, 2); w.Next().Due < s.Duration; {
			want++
		}
	}
	if n := r.ReadLatency.Count(); n != want || n != r.ReadService.Count()+r.NotStarted {
		t.Errorf("%d requests, %d of them begun and %d not; %d were due", n, r.ReadService.Count(), r.NotStarted, want)
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

// untilSeen is a context that ends once a run has completed something, however
// long that takes.
func untilSeen(t *testing.T) (context.Context, *Progress) {
	t.Helper()
	seen := &Progress{}
	ctx, cancel := context.WithCancel(context.Background())
	ticker := time.NewTicker(time.Millisecond)
	t.Cleanup(ticker.Stop)
	t.Cleanup(cancel)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if requests, _, _ := seen.Look(); requests > 0 {
				cancel()
			}
		}
	}()
	return ctx, seen
}

// A run that is stopped gives what it has measured, and says that it was.
func TestCancelEndsTheRun(t *testing.T) {
	s := spec()
	s.Path, s.Duration, s.Threads = fileOf(t, unit.MiB), time.Hour, 2
	target, s, err := Open(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	var ctx context.Context
	ctx, s.Progress = untilSeen(t)
	r, err := Run(ctx, s, target)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if r.Reads == 0 || r.Measured <= 0 || r.Measured > time.Minute || r.ReadLatency.Count() < r.Reads {
		t.Errorf("%d reads in %v, %d latencies", r.Reads, r.Measured, r.ReadLatency.Count())
	}
}

// A filling that is stopped has not filled.
func TestCancelledFillIsNoSuccess(t *testing.T) {
	s := spec()
	s.Path = fileOf(t, unit.MiB)
	if err := os.Truncate(s.Path, 2*int64(unit.MiB)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Fill(ctx, s, []Span{{unit.MiB, unit.MiB}}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Two runs of one seed make the same requests, and write nothing twice.
func TestRunsOfOneSeedWriteDifferentData(t *testing.T) {
	s := spec()
	s.Path, s.Shape.Read, s.Shape.Pattern, s.Shape.Area, s.Requests = fileOf(t, unit.MiB), 0, shape.Once, 0, 256
	var old []byte
	for _, run := range []uint64{6, 7} {
		s.Run = run
		target, opened, err := Open(s, s.Path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), opened, target); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(s.Path)
		if err = errors.Join(err, target.Close()); err != nil {
			t.Fatal(err)
		}
		// Not a word of a sector is what it was.
		for at := 0; len(old) > 0 && at < len(b); at += 512 {
			if bytes.Equal(b[at+StampSize:at+512], old[at+StampSize:at+512]) {
				t.Fatalf("at %d the second run has written what the first had", at)
			}
		}
		old = b
	}
}

// What was opened is what was looked at.
func TestReplacedFileIsRefused(t *testing.T) {
	looked, err := os.Stat(fileOf(t, 4096))
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fileOf(t, 4096))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := sameFile(int(f.Fd()), looked); !errors.Is(err, errReplaced) {
		t.Errorf("another file: %v", err)
	}
	own, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := sameFile(int(f.Fd()), own); err != nil {
		t.Errorf("the same file: %v", err)
	}
}

// asUser makes the test binary, started again, one with little locked memory.
const asUser = "LINERATE_TEST_LITTLE_LOCKED"

// A user who may not lock memory gets threads instead of a ring, and is told
// why; one who asked for the ring by name gets the advice as an error.
func TestWithoutLockedMemory(t *testing.T) {
	if path := os.Getenv(asUser); path != "" {
		runWithoutLockedMemory(t, path)
		return
	}
	if r, err := ring.New(1); err != nil {
		t.Skipf("no ring to be refused: %v", err)
	} else if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/var/tmp", "linerate-locked-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	exe, file := filepath.Join(dir, "test"), filepath.Join(dir, "file")
	labtest.Program(t, exe, bytes.NewReader(self))
	err = errors.Join(os.WriteFile(file, make([]byte, unit.MiB), 0o644), os.Chmod(dir, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), exe, "-test.run=^TestWithoutLockedMemory$", "-test.v")
	cmd.Env, cmd.Dir = append(os.Environ(), asUser+"="+file), dir
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	if err == nil && bytes.Contains(out, []byte("--- SKIP")) {
		t.Skipf("%s", out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("%v: %s", err, out)
	}
}

func runWithoutLockedMemory(t *testing.T, path string) {
	if r, err := ring.New(1); err != nil {
		t.Skipf("no ring for this user: %v", err)
	} else if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: 16 << 10, Max: 16 << 10}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		t.Fatal(err)
	}
	s := spec()
	s.Path, s.Duration, s.Requests, s.Depth = path, 10*time.Second, 20, 8 // however busy this machine is
	target, s, err := Open(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	r, err := Run(context.Background(), s, target)
	if err != nil || r.Engine != Calls || !strings.Contains(r.NoRing, "ulimit -l") || r.Reads == 0 {
		t.Errorf("%s, %q, %d reads, %v", r.Engine, r.NoRing, r.Reads, err)
	}
	s.Engine = Ring
	if _, err := Run(context.Background(), s, target); !errors.Is(err, ring.ErrUnavailable) {
		t.Errorf("asked for by name: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, change := range map[string]func(*Spec){
		"no such file": func(s *Spec) { s.Path = filepath.Join(dir, "none") },
		"a directory,": func(s *Spec) { s.Path = dir },
		"it is empty":  func(s *Spec) { s.Path = fileOf(t, 0) },
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
		"number of its own":  func(s *Spec) { s.Shape.Read, s.Run = 0.5, 0 },
		"per thread":         func(s *Spec) { s.Depth, s.Shape.Sizes[0].Size, s.Shape.Area = 1024, 2*unit.MiB, unit.GiB },
		"want at most 2 GiB": func(s *Spec) { s.Threads, s.Shape.Sizes[0].Size, s.Shape.Area = 256, 4*unit.MiB, unit.GiB },
	} {
		s := spec()
		change(&s)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// A run that is to settle first measures only what comes after, however long the
// rounds took; one that never settles is measured all the same, and says so.
func TestSteadyRun(t *testing.T) {
	s := spec()
	s.Engine, s.Run, s.Threads = Null, 7, 2
	s.Duration, s.Steady = 200*time.Millisecond, &Steady{Round: 50 * time.Millisecond, Most: 8}
	r, err := Run(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Settled.Rates); n < SteadyWindow || n > 8 || r.Settled.Reached != (r.Settled.Range <= steadyRange && r.Settled.Slope <= steadySlope) {
		t.Errorf("%+v", r.Settled)
	}
	if r.Measured <= 0 || r.Measured > s.Duration || r.Took < s.Duration+5*s.Steady.Round {
		t.Errorf("measured %v of %v", r.Measured, r.Took)
	}
	if n := r.ReadLatency.Count() + r.WriteLatency.Count(); n == 0 || n >= r.Requests {
		t.Errorf("%d of %d requests are measured", n, r.Requests)
	}
	// Told to end while it settles: nothing was measured.
	ctx, cancel := context.WithCancel(t.Context())
	s.Steady.Round, s.Begin = time.Minute, func(context.Context) error { cancel(); return nil }
	r, err = Run(ctx, s, nil)
	if !errors.Is(err, context.Canceled) || r.Measured != 0 || r.Settled.Reached || r.Reads+r.Writes != 0 {
		t.Errorf("%v: %+v", err, r)
	}
}
