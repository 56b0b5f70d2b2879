package frames

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"linerate/internal/unit"
)

// small is a run of frames of odd size that any target takes.
func small(t *testing.T) Spec {
	return Spec{Dir: t.TempDir(), Format: Format{Name: "test", Bytes: 50001}, Rate: Rate{100, 1}, Streams: 2, Frames: 20, Buffer: 1000, Run: 7}
}

func TestRecordAndPlay(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"record":                 func(*Spec) {},
		"record, file per frame": func(s *Spec) { s.PerFrame = true },
		"record direct":          func(s *Spec) { s.Direct = true },
		"play":                   func(s *Spec) { s.Play = true },
		"play, file per frame":   func(s *Spec) { s.Play, s.PerFrame = true, true },
		"play direct":            func(s *Spec) { s.Play, s.Direct, s.PerFrame = true, true, true },
	} {
		t.Run(name, func(t *testing.T) {
			s := small(t)
			change(&s)
			r, err := Run(context.Background(), s, nil)
			if errors.Is(err, ErrNoDirect) {
				t.Skip(err)
			}
			if err != nil || len(r.Errors) > 0 || len(r.Streams) != 2 {
				t.Fatalf("%v, %v", err, r.Errors)
			}
			for _, frames := range r.Streams {
				for k, f := range frames {
					if f.Dropped || f.Failed || f.Took <= 0 || f.Service > f.Took || f.Due != s.Rate.At(k) {
						t.Fatalf("frame %d: %+v", k, f)
					}
				}
				if len(frames) != 20 {
					t.Errorf("%d frames", len(frames))
				}
			}
			if r.Took < s.Rate.At(19) {
				t.Errorf("20 frames at 100 a second took %v", r.Took)
			}
			wantEmpty(t, s.Dir)
		})
	}
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// No frame is like another, nor like itself in another run.
func TestContentIsFresh(t *testing.T) {
	s := small(t)
	s.Format.Bytes = 8192
	seen := map[string]bool{}
	for _, run := range []uint64{7, 8} {
		for stream := range 2 {
			s.Run = run
			s.Dir = t.TempDir()
			f, err := newFiles(s, s.Dir, stream)
			if err != nil {
				t.Fatal(err)
			}
			for k := range 50 {
				b := f.content(k, 8192)
				for at := 0; at < len(b); at += align {
					block := string(b[at : at+align])
					if seen[block] {
						t.Fatalf("run %d, stream %d, frame %d at %d was written before", run, stream, k, at)
					}
					seen[block] = true
				}
				if bytes.Count(b, []byte{0}) > 200 {
					t.Fatal("a frame has many zeroes")
				}
			}
			if err := f.close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestStoppedRunLeavesNothing(t *testing.T) {
	s := small(t)
	s.Frames = 10000
	s.Format.Bytes = 4096
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	r, err := Run(ctx, s, nil)
	if !errors.Is(err, context.DeadlineExceeded) || len(r.Streams) != 2 || len(r.Streams[0]) == s.Frames {
		t.Errorf("%v, %d streams", err, len(r.Streams))
	}
	wantEmpty(t, s.Dir)
}

func TestRunRefuses(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"not enough room": func(s *Spec) { s.Frames, s.Format.Bytes = 3_000_000, 500*unit.MiB },
		"no such file":    func(s *Spec) { s.Dir += "/none" },
		"no directory":    func(s *Spec) { s.Dir = "" },
		"want 1 to 64":    func(s *Spec) { s.Streams = 65 },
		"a buffer of 0":   func(s *Spec) { s.Buffer = 0 },
		"of memory, want": func(s *Spec) { s.Streams, s.Format.Bytes = 64, 100*unit.MiB },
		"of its own":      func(s *Spec) { s.Run = 0 },
	} {
		s := small(t)
		dir := s.Dir
		change(&s)
		if want == "not enough room" && room(s.Dir) < 0 {
			continue // not told here
		}
		if _, err := Run(context.Background(), s, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		wantEmpty(t, dir)
	}
}

// A frame that does not come back ends the run and is named.
func TestStuckFrameIsNamed(t *testing.T) {
	f := &files{stream: 1}
	e := &run{spec: Spec{Stuck: time.Millisecond}, files: []*files{f}}
	never := make(chan struct{})
	defer close(never)
	err := e.all(context.Background(), func(f *files) error {
		f.since.Store(time.Now().Add(-time.Second).UnixNano())
		f.working.Store(8)
		<-never
		return nil
	})
	var stuck *StuckError
	if !errors.As(err, &stuck) || stuck.Stream != 1 || stuck.Frame != 7 || stuck.For < time.Second {
		t.Errorf("%v", err)
	}
}

func TestMost(t *testing.T) {
	for _, c := range []struct{ from, to, can int }{{1, 16, 0}, {1, 16, 1}, {1, 16, 5}, {1, 16, 15}, {1, 16, 16}, {1, 16, 99}, {3, 3, 5}, {3, 3, 2}, {2, 9, 8}} {
		tried := map[int]bool{}
		got, err := Most(c.from, c.to, func(n int) (bool, error) {
			if tried[n] || n < c.from || n > c.to {
				t.Fatalf("%+v: tries %d", c, n)
			}
			tried[n] = true
			return n <= c.can, nil
		})
		want := min(c.can, c.to)
		if c.can < c.from {
			want = 0
		}
		if err != nil || got != want {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
	if got, err := Most(1, 8, func(n int) (bool, error) {
		if n == 4 {
			return false, errors.New("no")
		}
		return true, nil
	}); got != 2 || err == nil {
		t.Errorf("%d, %v", got, err)
	}
}

func TestVerdicts(t *testing.T) {
	s := Spec{Format: Format{Bytes: 1e6}, Rate: Rate{25, 1}, Streams: 2, Frames: 50, Buffer: 2}
	fine := func() Result {
		r := Result{Took: 2 * time.Second, Fetched: -1}
		for range 2 {
			var stream []Frame
			for k := range 50 {
				stream = append(stream, Frame{Due: s.Rate.At(k), Took: 3 * time.Millisecond, Service: 2 * time.Millisecond})
			}
			r.Streams = append(r.Streams, stream)
		}
		return r
	}
	for name, c := range map[string]struct {
		change func(*Spec, *Result)
		line   unit.BitRate
		want   Verdict
		says   string
	}{
		"sustained":             {func(*Spec, *Result) {}, 0, Sustained, "2 × 1000000 bytes × 8 × 25 frames per second = 400 Mbit/s"},
		"a drop":                {func(_ *Spec, r *Result) { r.Streams[1][30].Dropped = true }, 0, Drops, ""},
		"a failure":             {func(_ *Spec, r *Result) { r.Streams[1][30].Failed, r.Errors = true, []string{"EIO"} }, 0, Drops, "frames failed: EIO"},
		"the page cache":        {func(_ *Spec, r *Result) { r.Flush = time.Second }, 0, Behind, "hid that much, and the buffer holds 80ms"},
		"the target's cache":    {func(s *Spec, r *Result) { s.Direct, r.Flush = true, time.Second }, 0, Sustained, "a cache of the target has taken"},
		"a short flush":         {func(_ *Spec, r *Result) { r.Flush = 80 * time.Millisecond }, 0, Sustained, ""},
		"the line":              {func(*Spec, *Result) {}, 399 * unit.Mbit, Impossible, "and the line carries 399 Mbit/s"},
		"just the line":         {func(*Spec, *Result) {}, 400 * unit.Mbit, Sustained, ""},
		"played from the cache": {func(s *Spec, r *Result) { s.Play, r.Fetched = true, 25e6 }, 0, Sustained, "at least 75% of what was played came from this host's page cache"},
		"the generator":         {func(_ *Spec, r *Result) { r.Making = 3 * time.Second }, 0, Sustained, "making the frames took 75.0%"},
	} {
		s, r := s, fine()
		c.change(&s, &r)
		got := Summarise(s, r, c.line)
		if all := strings.Join(got.Evidence, "\n"); got.Verdict != c.want || !strings.Contains(all, c.says) {
			t.Errorf("%s: %s, %s", name, got.Verdict, all)
		}
		if got.GeneratorLimited != (name == "the generator") {
			t.Errorf("%s: generator limited %v", name, got.GeneratorLimited)
		}
	}
	r := fine()
	r.Streams[0][26] = Frame{Due: s.Rate.At(26), Dropped: true}
	got := Summarise(s, r, 0)
	if got.Frames != 99 || got.Dropped != 1 || got.BytesPer != 99e6/2 || got.Latency.N != 99 || got.Latency.Max != 3e6 || got.Service.P99 != 2e6 {
		t.Errorf("%+v", got)
	}
	if len(got.PerSecond) != 2 || got.PerSecond[0] != (Second{50, 0, 3 * time.Millisecond}) || got.PerSecond[1] != (Second{49, 1, 3 * time.Millisecond}) {
		t.Errorf("%+v", got.PerSecond)
	}
	if got := Summarise(s, Result{}, 0); got.Latency != nil || got.BytesPer != 0 {
		t.Errorf("%+v", got)
	}
}
