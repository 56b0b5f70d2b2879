package load

import (
	"context"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// pair brings up a sink and a source against it.
func pair(t *testing.T, sink, source Spec) (*proc, *proc) {
	t.Helper()
	k := startWorker(t, sink, defaultLimits())
	source.Peer = k.want(Listening).Addr
	s := startWorker(t, source, defaultLimits())
	k.want(Connected)
	s.want(Connected)
	return k, s
}

func (p *proc) result() Result {
	p.t.Helper()
	p.want(Started)
	return p.finished()
}

func (p *proc) finished() Result {
	p.t.Helper()
	e := p.want(Finished)
	if err := p.end(); err != nil {
		p.t.Fatal(err)
	}
	return *e.Result
}

func TestSourceToSink(t *testing.T) {
	tests := map[string]func(sink, source *Spec){
		"as fast as it goes": func(_, _ *Spec) {},
		"paced":              func(_, source *Spec) { source.Rate = 80 * unit.Mbit },
		"slow reader":        func(sink, _ *Spec) { sink.ReadRate = 80 * unit.Mbit },
		"small writes":       func(_, source *Spec) { source.WriteSize = 200 },
		"answered requests":  func(sink, source *Spec) { sink.Exchange, source.Exchange = 1024, 1024 },
		"requests at once": func(sink, source *Spec) {
			sink.Exchange, source.Exchange, source.NoDelay = 1024, 1024, true
		},
		"one stream":      func(sink, source *Spec) { sink.Streams, source.Streams = 1, 1 },
		"without warm-up": func(sink, source *Spec) { sink.Warmup, source.Warmup = 0, 0 },
	}
	if runtime.GOOS == "linux" {
		tests["discard"] = func(sink, _ *Spec) { sink.Discard = true }
		tests["pinned"] = func(sink, source *Spec) { sink.CPUs, source.CPUs = oneCPU(t), oneCPU(t) }
		tests["own buffers"] = func(sink, source *Spec) { sink.RecvBuffer, source.SendBuffer = 64*unit.KiB, 64*unit.KiB }
		tests["held back by pacing"] = func(_, source *Spec) { source.MaxPacing = 100 * unit.Mbit }
		tests["reno"] = func(_, source *Spec) { source.CC = "reno" }
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sink, source := testSpec(Sink), testSpec(Source)
			change(&sink, &source)
			source.Duration += time.Second / 2 // the source writes until after the sink has stopped counting
			k, s := pair(t, sink, source)
			k.begin()
			k.want(Started)
			s.begin()
			s.want(Started)
			got, sent := k.finished(), s.finished()
			// On a machine that held the sink up the window may be next to nothing.
			idle := got.BytesAfterWarmup <= 0 && got.Window > sink.Duration/10
			if idle || got.BytesAfterWarmup < 0 || got.Bytes < got.BytesAfterWarmup || len(got.Streams) != sink.Streams {
				t.Errorf("sink's result makes no sense: %+v", got)
			}
			if got.Window <= 0 {
				t.Errorf("window %v, want one above zero", got.Window)
			}
			if got.Bytes > sent.Bytes || sent.Bytes-sent.Unacked-got.Bytes > got.RecvSpace {
				t.Errorf("received %d of %d sent, %d of them unacknowledged, receive space %d", got.Bytes, sent.Bytes, sent.Unacked, got.RecvSpace)
			}
			if got.Discard != sink.Discard {
				t.Errorf("result marked discard %v, want %v", got.Discard, sink.Discard)
			}
			if got.Early || sent.Early || got.Streams[0].Error != "" || sent.Streams[0].Error != "" {
				t.Errorf("ended early: %+v, %+v", got, sent)
			}
		})
	}
}

func TestPacedSourceNeverRunsAhead(t *testing.T) {
	sink, source := testSpec(Sink), testSpec(Source)
	source.Rate = 16 * unit.Mbit
	k, s := pair(t, sink, source)
	k.begin()
	s.begin()
	got, sent := k.result(), s.result()
	// It may be late, on a busy machine, but never early: the schedule is absolute.
	most := int64(float64(source.Rate) / 8 * (got.Window + source.Warmup + bound).Seconds())
	if exact := int64(float64(source.Rate) / 8 * source.Duration.Seconds()); got.Bytes > sent.Bytes || sent.Bytes > most || sent.Bytes < exact/20 {
		t.Errorf("paced source sent %d bytes (received %d), want about %d", sent.Bytes, got.Bytes, exact)
	}
}

func TestPace(t *testing.T) {
	for _, tt := range []struct {
		rate  float64
		chunk int
		tenth time.Duration
	}{
		{80e6, 100_000, 100 * time.Millisecond},
		{8e9, block, time.Duration(10 * float64(block))},
		{8e3, 1 << 10, 10 * 1024 * time.Millisecond},
	} {
		p := newPace(tt.rate)
		if p.chunk != tt.chunk || p.due(9) != tt.tenth {
			t.Errorf("rate %v: chunk %d, tenth due at %v; want %d, %v", tt.rate, p.chunk, p.due(9), tt.chunk, tt.tenth)
		}
	}
}

func TestEndOfInputStopsTheWorker(t *testing.T) {
	for _, when := range []string{"listening", "connected", "running"} {
		t.Run(when, func(t *testing.T) {
			sink, source := testSpec(Sink), testSpec(Source)
			sink.Duration, source.Duration = time.Hour, time.Hour
			k := startWorker(t, sink, defaultLimits())
			source.Peer = k.want(Listening).Addr
			if when != "listening" {
				s := startWorker(t, source, defaultLimits())
				s.want(Connected)
				k.want(Connected)
				if when == "running" {
					k.begin()
					k.want(Started)
				}
			}
			k.stdin.Close()
			if err := k.end(); err != nil {
				t.Errorf("stopped worker returned %v, want nil", err)
			}
		})
	}
}

func TestDeadlineEndsTheWorker(t *testing.T) {
	spec := testSpec(Sink)
	spec.Deadline = 50 * time.Millisecond
	k := startWorker(t, spec, defaultLimits())
	k.want(Listening)
	if e := k.want(Failed); !strings.Contains(e.Error, "deadline") {
		t.Errorf("error event %q, want one that names the deadline", e.Error)
	}
	wantError(t, k.end(), "deadline")
}

func TestCancelledContextEndsTheWorker(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	defer inW.Close()
	done := make(chan error, 1)
	go func() { done <- runWorker(ctx, inR, io.Discard, defaultLimits()) }()
	(&proc{t: t, stdin: inW}).say(testSpec(Sink))
	cancel()
	wantError(t, (&proc{t: t, done: done}).end(), "canceled")
}

func TestUnexpectedLineEndsTheWorker(t *testing.T) {
	k := startWorker(t, testSpec(Sink), defaultLimits())
	k.want(Listening)
	if _, err := io.WriteString(k.stdin, "gone\n"); err != nil {
		t.Fatal(err)
	}
	k.want(Failed)
	wantError(t, k.end(), "unexpected line")
}

func TestSourceEndsWhenNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	spec := testSpec(Source)
	spec.Peer = netip.MustParseAddrPort(ln.Addr().String())
	ln.Close()
	s := startWorker(t, spec, defaultLimits())
	e := s.want(Failed)
	wantError(t, s.end(), "connect stream 0 to "+spec.Peer.String())
	if runtime.GOOS == "linux" && (e.Unreached == nil || e.Unreached.How != model.Refused || e.Unreached.To != spec.Peer || e.Unreached.From != spec.Bind) {
		t.Errorf("told %+v", e.Unreached)
	}
}

func TestUnknownCongestionControlNamesTheOnesThereAre(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("TCP_CONGESTION is Linux's")
	}
	spec := testSpec(Sink)
	spec.CC = "no-such"
	s := startWorker(t, spec, defaultLimits())
	if e := s.want(Failed); !strings.Contains(e.Error, "no-such") || !strings.Contains(e.Error, "reno") {
		t.Errorf("error %q names neither what was asked for nor what there is", e.Error)
	}
	wantError(t, s.end(), "no-such")
}

// A sink that reads nothing fills the socket; the blocked sender must not
// hold up a stop-the-world. That it comes to an end is the assertion: a raw
// call without a timeout would block the collector for good.
func TestCollectorRunsWhileAStreamIsBlocked(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	spec := testSpec(Source)
	spec.Streams, spec.Duration = 1, time.Hour
	spec.Peer = netip.MustParseAddrPort(ln.Addr().String())
	s := startWorker(t, spec, defaultLimits())
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, proof, err := challenge(c, constant{}, spec.Token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(proof[:]); err != nil {
		t.Fatal(err)
	}
	s.want(Connected)
	s.begin()
	s.want(Started)
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err) // from here on the stream fills up
	}
	done := make(chan struct{})
	go func() {
		for range 20 {
			runtime.GC()
		}
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(bound):
		t.Fatal("the collector is held up by a blocked stream")
	}
	s.stdin.Close()
	if err := s.end(); err != nil {
		t.Error(err)
	}
}

// constant is a source of randomness without any.
type constant struct{}

func (constant) Read(b []byte) (int, error) { return len(b), nil }

func TestReadSpecRefuses(t *testing.T) {
	good := `{"v":1,"role":"sink","bind":"127.0.0.1","token":"` + strings.Repeat("ab", 32) + `","streams":1,"duration":1000,"warmup":0,"deadline":1000`
	if _, err := DecodeSpec([]byte(good + "}")); err != nil {
		t.Fatal(err)
	}
	for name, line := range map[string]string{
		"unknown field":   good + `,"shell":"x"}`,
		"trailing data":   good + `} {}`,
		"another version": strings.Replace(good, `"v":1`, `"v":2`, 1) + "}",
		"no role":         strings.Replace(good, "sink", "both", 1) + "}",
		"any address":     strings.Replace(good, "127.0.0.1", "0.0.0.0", 1) + "}",
		"short token":     strings.Replace(good, "abab", "ab", 1) + "}",
		"zero token":      strings.Replace(good, strings.Repeat("ab", 32), strings.Repeat("00", 32), 1) + "}",
		"no streams":      strings.Replace(good, `"streams":1`, `"streams":0`, 1) + "}",
		"many streams":    strings.Replace(good, `"streams":1`, `"streams":1000`, 1) + "}",
		"long warm-up":    strings.Replace(good, `"warmup":0`, `"warmup":1000`, 1) + "}",
		"no deadline":     strings.Replace(good, `"deadline":1000`, `"deadline":0`, 1) + "}",
		"negative rate":   good + `,"rate_bps":-1}`,
		"cap too low":     good + `,"max_conns":-1}`,
		"source, no peer": strings.Replace(good, "sink", "source", 1) + "}",
	} {
		if s, err := DecodeSpec([]byte(line)); err == nil {
			t.Errorf("%s: accepted as %+v", name, s)
		} else if strings.Contains(err.Error(), "abab") {
			t.Errorf("%s: the error shows the token: %v", name, err)
		}
	}
	long := io.MultiReader(strings.NewReader(strings.Repeat(" ", MaxSpec+1)))
	wantError(t, runWorker(t.Context(), long, io.Discard, defaultLimits()), "longer than")
	wantError(t, runWorker(t.Context(), strings.NewReader(""), io.Discard, defaultLimits()), "started by linerate")
}

// A path that swallows everything: the run ends when its time is over.
func TestSinkThatGetsNothingEndsOnTime(t *testing.T) {
	lim := defaultLimits()
	lim.drain = 10 * time.Millisecond
	k := startWorker(t, testSpec(Sink), lim)
	source := testSpec(Source)
	source.Peer = k.want(Listening).Addr
	s := startWorker(t, source, defaultLimits())
	k.want(Connected)
	s.want(Connected)
	k.begin()
	res := k.result()
	if res.Bytes != 0 || res.Window <= 0 || res.Early || res.Streams[0].Error != "" {
		t.Errorf("result of an empty run: %+v", res)
	}
}
