package block

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/unit"
)

// resultOf is of so many reads of 4 KiB, a millisecond each, in a second.
func resultOf(t *testing.T, reads int) Result {
	t.Helper()
	r := Result{Engine: Ring, Threads: 1, Depth: 4, Measured: time.Second, Waited: 900 * time.Millisecond, Fetched: -1,
		ReadLatency: newTimes(), WriteLatency: newTimes(), ReadService: newTimes(), WriteService: newTimes(), Syncs: newTimes(),
		Reads: int64(reads), ReadBytes: int64(reads) * 4096, Requests: int64(reads), UserCPU: 10 * time.Millisecond}
	for range reads {
		if err := errors.Join(r.ReadLatency.add(time.Millisecond, 1), r.ReadService.add(time.Millisecond, 1)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestSummaryNamesWhatSpeaksAgainstIt(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Result, *Witness)
		want    string // in the evidence
		without string // not in it
	}{
		"cached": {change: func(r *Result, _ *Witness) { r.Fetched = unit.Bytes(r.ReadBytes / 4) },
			want: "at least 75% of what was read came from this host's page cache"},
		"read ahead of what was asked for": {change: func(r *Result, _ *Witness) { r.Fetched = unit.Bytes(r.ReadBytes * 3) }, without: "cache"},
		"not accounted":                    {change: func(*Result, *Witness) {}, without: "cache"},
		"sparse": {change: func(_ *Result, w *Witness) { w.Size, w.Occupied = unit.GiB, unit.MiB },
			want: "occupies only 1 MiB of its 1 GiB: it is sparse or compressed"},
		"whole":     {change: func(_ *Result, w *Witness) { w.Size, w.Occupied = unit.GiB, unit.GiB+4096 }, without: "sparse"},
		"device":    {change: func(_ *Result, w *Witness) { w.Size, w.Occupied = unit.GiB, -1 }, without: "sparse"},
		"late":      {change: func(r *Result, _ *Witness) { r.NotStarted = 7 }, want: "7 requests that were due within the run never began: the target held every one of the 4 in flight"},
		"no ring":   {change: func(r *Result, _ *Witness) { r.NoRing = "ulimit -l" }, want: "io_uring refused: ulimit -l"},
		"with ring": {change: func(*Result, *Witness) {}, without: "io_uring"},
		"buffered":  {change: func(r *Result, w *Witness) { r.WrittenBytes, w.Buffered, w.Dirty = 1, true, 3*unit.GiB }, want: "a rate of memory, not of the target; 3 GiB more than before"},
		"written out": {change: func(r *Result, w *Witness) {
			left, out := unit.GiB, 9*unit.GiB
			r.WrittenBytes, w.Buffered, w.Waiting, w.Out = int64(10*unit.GiB), true, &left, &out
		}, want: "of 10 GiB at most 1 GiB had not left it", without: "a rate of memory"},
		"not written out": {change: func(r *Result, w *Witness) {
			left, out := unit.GiB+1, 10*unit.GiB
			r.WrittenBytes, w.Buffered, w.Waiting, w.Out = int64(10*unit.GiB), true, &left, &out
		}, want: "a rate of memory, not of the target", without: "had not left it"},
		"written again": {change: func(r *Result, w *Witness) { // a small file, over and over
			left, out := unit.MiB, 9*unit.GiB-1
			r.WrittenBytes, w.Buffered, w.Waiting, w.Out = int64(10*unit.GiB), true, &left, &out
		}, want: "a rate of memory, not of the target", without: "had not left it"},
		"not known":  {change: func(r *Result, w *Witness) { r.WrittenBytes, w.Buffered, w.Dirty = 1, true, -1 }, want: "how much of it still stands there is not known"},
		"read only":  {change: func(r *Result, w *Witness) { r.WrittenBytes, w.Buffered = 0, true }, without: "a rate of memory"},
		"synced":     {change: func(r *Result, w *Witness) { r.WrittenBytes = 1 }, without: "a rate of memory"},
		"not proven": {change: func(_ *Result, w *Witness) { w.Unproven = "asked, and not told" }, want: "asked, and not told"},
		"generator":  {change: func(r *Result, w *Witness) { w.Null, r.Waited = 1500, 0 }, want: "this run reached 67% of that"},
		"starved":    {change: func(r *Result, w *Witness) { w.Null, r.Took, r.NoCore = 1e6, time.Second, 300*time.Millisecond }, want: "had no core"},
		"no witness": {change: func(*Result, *Witness) {}, want: "what the generator does alone was not measured"},
	} {
		r, w := resultOf(t, 1000), Witness{Occupied: -1}
		c.change(&r, &w)
		s, err := Summarise(name, r, w)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(s.Evidence, "\n")
		if !strings.Contains(all, c.want) || c.without != "" && strings.Contains(all, c.without) {
			t.Errorf("%s: %s", name, all)
		}
		if s.GeneratorLimited != (name == "generator" || name == "starved") {
			t.Errorf("%s: generator limited is %v", name, s.GeneratorLimited)
		}
	}
}

func TestSummaryCountsWhatItsFiguresAreOf(t *testing.T) {
	r := resultOf(t, 1000)
	for range 10 {
		if err := r.Syncs.add(3*time.Millisecond, 1); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Summarise("x", r, Witness{Occupied: -1})
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests != 1000 || s.Latency.N != 1000 || s.Syncs.N != 10 || s.Syncs.Max != int64(3*time.Millisecond) || s.IOPS != 1000 || s.FromCache != nil {
		t.Errorf("%+v, %+v, %+v", s, s.Latency, s.Syncs)
	}
	if s.CPUPerIO != 10 { // 10 ms over 1000 requests, syncs left out
		t.Errorf("%v µs of CPU per request", s.CPUPerIO)
	}
}

func TestSummaryOfNothing(t *testing.T) {
	r := resultOf(t, 0)
	r.Failed, r.Failures = 1, []Failure{{Offset: 4096, Errno: 5}}
	s, err := Summarise("x", r, Witness{Occupied: -1})
	if err != nil {
		t.Fatal(err)
	}
	if s.Latency != nil || s.Service != nil || s.Syncs != nil || s.Requests != 0 {
		t.Errorf("figures of no request: %+v", s)
	}
	if !slices.Equal(s.Failures, []string{"read at offset 4096: " + syscall.Errno(5).Error()}) {
		t.Errorf("%q", s.Failures)
	}
}
