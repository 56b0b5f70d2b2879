package load

import (
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
