package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/load/block"
	"linerate/internal/load/tcp"
	"linerate/internal/load/worker"
	"linerate/internal/model"
)

func TestRunText(t *testing.T) {
	got := runText(worker.Work{Requests: 700, Bytes: 700 * 4096, Longest: 3 * time.Millisecond, HeldBy: block.ByTarget}, worker.Work{Requests: 200, Bytes: 200 * 4096},
		500*time.Millisecond, 7600*time.Millisecond)
	if want := "1000 requests/s, 3.91 MiB/s, longest 3ms, 8s left, held by the target"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := runText(worker.Work{}, worker.Work{}, time.Second, -time.Second); got != "0 requests/s, 0 B/s" {
		t.Errorf("%q", got)
	}
}

// Where nobody watches, a run need not tell of itself.
func TestNobodyWatches(t *testing.T) {
	s := here(app.Env{Now: time.Now}, &line{})
	seen, done := s.watch(t.Context())("load", time.Second)
	if done(); seen != nil {
		t.Error("a run is to tell of itself, and nobody watches")
	}
}

// line is an app.Progress that writes what it is told.
type line struct {
	w    io.Writer
	live bool
}

func (l *line) Say(format string, args ...any) { fmt.Fprintf(l.w, format+"\n", args...) }
func (l *line) Detail(text string)             { fmt.Fprintln(l.w, text) }
func (l *line) Tick(work, text string)         { fmt.Fprintf(l.w, "%s: %s\n", work, text) }
func (l *line) Live() bool                     { return l.live }
func (l *line) End()                           {}
func (l *line) Started() time.Time             { return time.Unix(0, 0) }

// The CPUs near the card are taken only where they are known and are not all, and
// never one that this host may not use.
func TestNearCard(t *testing.T) {
	to := netip.MustParseAddr("10.0.0.2")
	host := func(local model.Fact[[]int], allowed ...int) *model.Facts {
		return &model.Facts{CPUs: allowed, NICs: []model.NIC{
			{Name: "mgmt", Addrs: []netip.Prefix{netip.MustParsePrefix("192.168.0.1/24")}, LocalCPUs: model.Known([]int{0})},
			{Name: "data", Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}, LocalCPUs: local},
		}}
	}
	for name, c := range map[string]struct {
		f    *model.Facts
		want []int
	}{
		"a node of two":     {host(model.Known([]int{2, 3}), 0, 1, 2, 3), []int{2, 3}},
		"some not allowed":  {host(model.Known([]int{2, 3, 4}), 0, 3, 4), []int{3, 4}},
		"all are near":      {host(model.Known([]int{0, 1, 2, 3}), 0, 1), nil},
		"none of ours":      {host(model.Known([]int{4, 5}), 0, 1), nil},
		"not known":         {host(model.Unknown[[]int](model.Unsupported, "virtual"), 0, 1), nil},
		"no route to there": {&model.Facts{CPUs: []int{0, 1}}, nil},
	} {
		if got := nearCard(c.f, to); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The interrupts of a machine count once, however many ends and directions have
// seen them; threads count all.
func TestCPUOfBothEnds(t *testing.T) {
	v := func(f float64) *float64 { return &f }
	// 3 and 1 GB: the same 6 s of interrupts beside each.
	directions := []tcp.Figures{
		{Goodput: 24e9, Sender: End{Threads: v(0.1), SoftIRQ: v(2)}, Receiver: End{Threads: v(0.3), SoftIRQ: v(2)}},
		{Goodput: 8e9, Sender: End{Threads: v(0.2), SoftIRQ: v(6)}, Receiver: End{Threads: v(0.2), SoftIRQ: v(6)}},
	}
	for _, c := range []struct {
		same         bool
		threads, irq float64
	}{{true, 0.4, 1.5}, {false, 0.4, 3}} {
		r := TCPResult{Directions: directions, machines: [][2]string{{"a", "b"}, {"b", "a"}}}
		if c.same {
			r.machines = [][2]string{{"a", "a"}, {"a", "a"}}
		}
		r.Load.Goodput = 32e9
		r.cpu()
		if math.Abs(*r.Load.CPUPerGB-c.threads) > 1e-9 || math.Abs(*r.Load.SoftIRQPerGB-c.irq) > 1e-9 {
			t.Errorf("on one machine %v: %v, %v", c.same, *r.Load.CPUPerGB, *r.Load.SoftIRQPerGB)
		}
	}
	directions[1].Receiver = End{}
	r := TCPResult{Directions: directions, machines: [][2]string{{"a", "b"}, {"b", "a"}}}
	r.Load.Goodput = 32e9
	if r.cpu(); r.Load.CPUPerGB != nil || r.Load.SoftIRQPerGB != nil {
		t.Errorf("an end that is not known: %v, %v", r.Load.CPUPerGB, r.Load.SoftIRQPerGB)
	}
	// Nothing moved: no cost per byte.
	r = TCPResult{Directions: []tcp.Figures{{}}, machines: [][2]string{{"a", "a"}}}
	if r.cpu(); r.Load.CPUPerGB != nil || r.Load.SoftIRQPerGB != nil {
		t.Error("a cost per byte of no bytes")
	}
}

func TestSecondsOfBothDirections(t *testing.T) {
	r := TCPResult{Directions: []tcp.Figures{{PerSecond: []int64{1, 2, 3}}, {PerSecond: []int64{10, 20}}}}
	if r.perSecond(); len(r.PerSecond) != 2 || r.PerSecond[0].Bytes != 11 || r.PerSecond[1].Bytes != 22 {
		t.Errorf("%v", r.PerSecond)
	}
}

// The line shows what arrives at all receivers, between samples that are far
// enough apart.
func TestWatchTCP(t *testing.T) {
	var b bytes.Buffer
	start := time.Unix(1e9, 0)
	now := start
	p := &line{w: &b, live: true}
	watch := watchTCP(p, func() time.Time { return now }, 2, 10*time.Second)
	for i := range 11 {
		now = start.Add(time.Duration(i) * 100 * time.Millisecond)
		ms := time.Duration(i) * time.Millisecond
		watch(0, false, model.Sample{Conns: []model.Conn{{Busy: 100 * ms, RwndLimited: 90 * ms}, {Busy: 100 * ms}}})
		watch(1, false, model.Sample{Conns: []model.Conn{{Busy: 100 * ms, RwndLimited: 80 * ms, SndbufLimited: 10 * ms}}})
		watch(0, true, model.Sample{Conns: []model.Conn{{BytesReceived: int64(i) * 5_000_000}, {BytesReceived: 0}}})
		watch(1, true, model.Sample{Conns: []model.Conn{{BytesReceived: int64(i) * 5_000_000}}})
		watch(1, true, model.Sample{}) // before they are up
	}
	if want := "arrives: 720 Mbit/s, 10s left, held by the receive window\narrives: 800 Mbit/s, 9s left, held by the receive window\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	p.live = false
	if watchTCP(p, nil, 1, time.Second) != nil {
		t.Error("nobody watches, and samples are asked for")
	}
}

func TestTCPPairs(t *testing.T) {
	for _, c := range []struct{ senders, receivers, want string }{
		{"a", "b", "a>b"}, {"a,b", "nas", "a>nas b>nas"}, {"nas", "a,b", "nas>a nas>b"}, {"a,b", "c,d", "a>c b>d"}, {"local", "local", "localhost>localhost"},
		{"a,b", "c,d,e", ""}, {"a,a", "c", ""}, {"a,b", "b", ""}, {"a:/x", "b", ""}, {"a,", "b", ""},
	} {
		hosts, err := ParseTCPHosts(c.senders, c.receivers)
		var got []string
		for _, p := range hosts.Pairs {
			got = append(got, p.Names[0].String()+">"+p.Names[1].String())
		}
		if err != nil {
			got = nil
		}
		if text := strings.Join(got, " "); text != c.want || (err == nil) == (c.want == "") {
			t.Errorf("%s %s: %q, %v; want %q", c.senders, c.receivers, text, err, c.want)
		}
	}
}

// What held the senders is what most of their time went to.
func TestTCPWaits(t *testing.T) {
	const ms = time.Millisecond
	before := tcpWaits{2, 100 * ms, 10 * ms, 10 * ms}
	for _, c := range []struct {
		after tcpWaits
		want  string
	}{
		{tcpWaits{2, 1100 * ms, 710 * ms, 10 * ms}, "the receive window"},
		{tcpWaits{2, 1100 * ms, 10 * ms, 610 * ms}, "the send buffer"},
		{tcpWaits{2, 1100 * ms, 110 * ms, 110 * ms}, "the path and the CPUs"},
		{tcpWaits{2, 300 * ms, 110 * ms, 10 * ms}, "the sending program"},
		{tcpWaits{1, 1100 * ms, 710 * ms, 10 * ms}, ""}, // one of them has gone
	} {
		if got := c.after.since(before, 500*ms); got != c.want {
			t.Errorf("%+v: %q, want %q", c.after, got, c.want)
		}
	}
	if got := (tcpWaits{}).since(tcpWaits{}, ms); got != "" {
		t.Errorf("nobody seen: %q", got)
	}
}

func TestHeldAt(t *testing.T) {
	for want, by := range map[string][]string{
		"": {"the target", ""}, "the target": {"the target", "the target"}, "the hosts' CPUs (2 of 3 hosts)": {block.ByHost, "the target", block.ByHost},
		block.ByHost: {block.ByHost},
	} {
		if got := heldAt(by); got != want {
			t.Errorf("%q: %q, want %q", by, got, want)
		}
	}
}

// Nobody begins before all have come.
func TestRendezvous(t *testing.T) {
	wait := rendezvous(2)
	ctx, cancel := context.WithCancel(t.Context())
	came := make(chan error)
	go func() { came <- wait(t.Context()) }()
	cancel()
	select {
	case err := <-came:
		t.Fatalf("one begins alone: %v", err)
	default:
	}
	if err := wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-came; err != nil {
		t.Error(err)
	}
	if err := rendezvous(2)(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("whose load was cancelled still waits: %v", err)
	}
}
