package frames

import (
	"context"
	"errors"
	"testing"
	"time"
)

// world is a target in virtual time: each frame takes what take says.
type world struct {
	at    time.Duration
	take  func(frame int) time.Duration
	moved []int
	fail  int
	stop  func()
	last  time.Duration // when to stop
}

func (w *world) now() time.Duration { return w.at }
func (w *world) until(_ context.Context, t time.Duration) {
	w.at = max(w.at, t)
	if w.stop != nil && w.at >= w.last {
		w.stop()
	}
}
func (w *world) move(k int) error {
	w.moved = append(w.moved, k)
	w.at += w.take(k)
	if w.fail > 0 && k == w.fail {
		return errors.New("no")
	}
	return nil
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func dropped(frames []Frame) (out []int) {
	for k, f := range frames {
		if f.Dropped {
			out = append(out, k)
		}
	}
	return out
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// A frame each 40 ms with a buffer of 3: a stall is hidden while the buffer
// lasts, and drops what comes beyond. Deadlines do not move.
func TestDeadlines(t *testing.T) {
	always := func(d time.Duration) func(int) time.Duration { return func(int) time.Duration { return d } }
	stall := func(at int, d time.Duration) func(int) time.Duration {
		return func(k int) time.Duration {
			if k == at {
				return d
			}
			return ms(10)
		}
	}
	for name, c := range map[string]struct {
		take           func(int) time.Duration
		record, played []int // frames dropped
	}{
		"in time":                {always(ms(30)), nil, nil},
		"as long as it may take": {always(ms(40)), nil, nil},
		// Frame 5 comes at 200 and holds a place until 310: 6 and 7 take the others.
		"a stall that the buffer takes": {stall(5, ms(110)), nil, nil},
		// Until 345, when frame 8 has come (at 320) and found no place. Played, 5
		// had to be there at 320 itself; 6 is read by 355 and has until 360.
		"a stall beyond it": {stall(5, ms(145)), []int{8}, []int{5}},
		// Until 500: 8 to 12 come at 320 to 480, and at 480 all places are still
		// taken. Played, 5 has until 320, and 6 to 9 until 360 to 480; 10 has until 520.
		"a long stall": {stall(5, ms(300)), []int{8, 9, 10, 11, 12}, []int{5, 6, 7, 8, 9}},
	} {
		s := schedule{Rate{25, 1}, 20, 3}
		w := &world{take: c.take}
		got, err := s.record(context.Background(), w, w)
		if err != nil || len(got) != 20 || !equal(dropped(got), c.record) {
			t.Errorf("%s, recorded: %d frames, dropped %v, want %v, %v", name, len(got), dropped(got), c.record, err)
		}
		if len(w.moved) != 20-len(c.record) {
			t.Errorf("%s, recorded: %v", name, w.moved)
		}
		w = &world{take: c.take}
		if got, err = s.play(context.Background(), w, w); err != nil || len(got) != 20 || !equal(dropped(got), c.played) {
			t.Errorf("%s, played: %d frames, dropped %v, want %v, %v", name, len(got), dropped(got), c.played, err)
		}
	}
}

// A target at half the rate drops half of the frames, and no more.
func TestHalfTheRate(t *testing.T) {
	s := schedule{Rate{25, 1}, 1000, 4}
	for name, run := range map[string]func(context.Context, clock, mover) ([]Frame, error){"record": s.record, "play": s.play} {
		w := &world{take: func(int) time.Duration { return ms(80) }}
		got, err := run(context.Background(), w, w)
		if n := len(dropped(got)); err != nil || n < 490 || n > 510 {
			t.Errorf("%s: %d of 1000 dropped, %v", name, n, err)
		}
	}
}

func TestTimesOfAFrame(t *testing.T) {
	s := schedule{Rate{25, 1}, 3, 3}
	w := &world{take: func(int) time.Duration { return ms(60) }}
	got, err := s.record(context.Background(), w, w)
	if err != nil {
		t.Fatal(err)
	}
	// Frame 1 comes at 40, begins when frame 0 is done at 60 and ends at 120.
	if want := (Frame{Due: ms(40), Took: ms(80), Service: ms(60)}); got[1] != want {
		t.Errorf("%+v, want %+v", got[1], want)
	}
}

func TestFailedFrameIsCountedAndTheRunGoesOn(t *testing.T) {
	s := schedule{Rate{25, 1}, 10, 3}
	for _, run := range []func(context.Context, clock, mover) ([]Frame, error){s.record, s.play} {
		w := &world{take: func(int) time.Duration { return ms(1) }, fail: 4}
		got, err := run(context.Background(), w, w)
		if err == nil || len(got) != 10 || !got[4].Failed || got[5].Failed || len(w.moved) != 10 {
			t.Errorf("%v, %+v", err, got)
		}
	}
}

func TestStoppedStream(t *testing.T) {
	s := schedule{Rate{25, 1}, 100, 3}
	for _, run := range []func(context.Context, clock, mover) ([]Frame, error){s.record, s.play} {
		ctx, cancel := context.WithCancel(context.Background())
		w := &world{take: func(int) time.Duration { return ms(1) }, stop: cancel, last: ms(400)}
		got, err := run(ctx, w, w)
		if err != nil || len(got) < 9 || len(got) > 12 {
			t.Errorf("%d frames until 400 ms, %v", len(got), err)
		}
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]Rate{"25": {25, 1}, "29.97": {30000, 1001}, "23.98": {24000, 1001}, "23.976": {24000, 1001}, "59.94": {60000, 1001}, "60": {60, 1}} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-25", "NaN", "1e9", "25.5", "+Inf"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
	// An hour of 29.97 is 107892.1 frames; the last is due to the nanosecond.
	if got := (Rate{30000, 1001}).At(30000); got != 1001*time.Second {
		t.Errorf("frame 30000 is due at %v", got)
	}
	if got := (Rate{24000, 1001}).At(maxFrames); got <= 0 {
		t.Errorf("frame %d is due at %v", maxFrames, got)
	}
	if got := (Rate{30000, 1001}).String(); got != "29.97" {
		t.Error(got)
	}
}

// Known sizes: v210 and r210 by their line rules, DPX with its header.
func TestFrameBytes(t *testing.T) {
	for name, want := range map[string]int64{
		"hd-yuv8": 4147200, "hd-yuv10": 5529600, "hd720-yuv10": 2488320, "uhd-yuv10": 22118400, "hd-rgb10": 8294400, "hd720-rgb10": 3686400,
		"pal-rgb10": 768 * 4 * 576, "2k-full-dpx10": 12748800, "4k-full-dpx10": 50987008 + 2048, "hd-rgb12": 9331200, "4k-rgb16": 53084160, "8k-rgb8": 132710400,
	} {
		f, err := Find(name)
		if err != nil || int64(f.Bytes) != want {
			t.Errorf("%s: %d, %v; want %d", name, int64(f.Bytes), err, want)
		}
	}
	if _, err := Find("hd"); err == nil {
		t.Error("found a format without pixels")
	}
	seen := map[string]bool{}
	for _, f := range Formats() {
		if seen[f.Name] || f.Bytes <= 0 {
			t.Errorf("%+v", f)
		}
		seen[f.Name] = true
	}
}
