package load

import (
	"os"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/frames"
)

func framesSpecOf(t *testing.T, play bool) Spec {
	t.Helper()
	return Spec{Role: Frames, Duration: 200 * time.Millisecond,
		Frames: &FramesSpec{Dir: t.TempDir(), Format: "ntsc-yuv8", FPS: "50", Streams: 2, Buffer: 10, Play: play, Buffered: true}}
}

// A run is of so many frames as its time has, each with its rate, and leaves nothing.
func TestFramesAreRecordedAndPlayed(t *testing.T) {
	for what, play := range map[string]bool{"recorded": false, "played": true} {
		spec := framesSpecOf(t, play)
		up, r := workAlone(t, spec)
		if up.Alone == nil || !strings.Contains(up.Alone.Method, "2 × ntsc-yuv8 "+what+" at 50 frames per second, through the page cache") {
			t.Errorf("prepared %+v", up.Alone)
		}
		f := r.Frames
		if f == nil || f.Frames+f.Dropped != 20 || f.Failed != 0 || len(f.PerFrame) != 10 || f.Each != 1 {
			t.Fatalf("%s: %+v", what, f)
		}
		if f.IntoCache == play { // recorded through the page cache, as was asked for
			t.Errorf("%s: %+v", what, f)
		}
		if f.Frames > 0 && (f.Mean <= 0 || f.Latency == nil || r.Bytes < f.Frames*720*486*2 || r.Window <= 0) {
			t.Errorf("%s: %+v of %+v", what, f, r)
		}
		left, err := os.ReadDir(spec.Frames.Dir)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: left behind: %v, %v", what, left, err)
		}
	}
}

// Somebody who parts at the barrier leaves nothing either.
func TestFramesThatNeverBegin(t *testing.T) {
	spec := framesSpecOf(t, false)
	p := startWorker(t, spec, defaultLimits())
	p.want(Connected)
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(spec.Frames.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// The mean is of bytes over time, not of rates; a point of the course is the slowest
// of its frames, and 0 where one was dropped.
func TestRatesOfFrames(t *testing.T) {
	s := frames.Spec{Format: frames.Format{Name: "x", Bytes: 1e6}, Rate: frames.Rate{Num: 50, Den: 1}, Streams: 2, Frames: 1000, Buffer: 4}
	ms := time.Millisecond
	fast, slow := frames.Frame{Took: 8 * ms, Service: 4 * ms}, frames.Frame{Took: 20 * ms, Service: 16 * ms}
	r := frames.Result{Took: 20 * time.Second, Streams: [][]frames.Frame{nil, nil}}
	for k := range 1000 {
		one, two := fast, fast
		switch k {
		case 3:
			two = slow
		case 10:
			one = frames.Frame{Dropped: true}
		}
		r.Streams[0], r.Streams[1] = append(r.Streams[0], one), append(r.Streams[1], two)
	}
	got := framesResult(s, r)
	// 1999 frames of 8 Mbit in 1998 × 4 + 16 ms.
	if want := 1999 * 8e6 / (1998*0.004 + 0.016); got.Mean < want*0.999999 || got.Mean > want*1.000001 {
		t.Errorf("mean %v, want %v", got.Mean, want)
	}
	if got.Each != 2 || len(got.PerFrame) != 500 || got.PerFrame[0] != 2e9 || got.PerFrame[1] != 5e8 || got.PerFrame[5] != 0 || got.PerFrame[6] != 2e9 {
		t.Errorf("each %d, %d points: %v", got.Each, len(got.PerFrame), got.PerFrame[:8])
	}
	if got.Dropped != 1 || moved(s, r) != 1999e6 {
		t.Errorf("%d dropped, %d bytes moved", got.Dropped, moved(s, r))
	}
}

func TestFramesSpecsAreChecked(t *testing.T) {
	for want, edit := range map[string]func(*Spec){
		"no absolute path":  func(s *Spec) { s.Frames.Dir = "x" },
		"find format":       func(s *Spec) { s.Frames.Format = "hd-crayon" },
		"read frame rate":   func(s *Spec) { s.Frames.FPS = "29.5" },
		"65 streams":        func(s *Spec) { s.Frames.Streams = 65 },
		"a buffer of 0":     func(s *Spec) { s.Frames.Buffer = 0 },
		"need a directory":  func(s *Spec) { s.Frames = nil },
		"of warm-up":        func(s *Spec) { s.Warmup = time.Second },
		"makes no frames":   func(s *Spec) { s.Role, s.Warmup = Copy, 0 },
		"makes no requests": func(s *Spec) { s.Block = &BlockSpec{} },
	} {
		s := framesSpecOf(t, false)
		edit(&s)
		wantError(t, s.Check(), want)
	}
}
