package loop

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/unit"
)

const rmem = "linux.sysctl.net.ipv4.tcp_rmem"

var (
	sendAddr = netip.MustParseAddr("192.0.2.1")
	recvAddr = netip.MustParseAddr("192.0.2.2")
	errFake  = errors.New("the host went away")
)

// inNoTime has what run waits for pass at once.
func inNoTime(t *testing.T, run func(context.Context) (*Record, error)) (rec *Record, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { rec, err = run(t.Context()) })
	return rec, err
}

// world is a pair of hosts whose receive buffer decides the goodput. Every
// call to either host is counted; the failAt-th fails (0: none), and so do all
// later ones but Undo where dead is false.
type world struct {
	mu     sync.Mutex // both ends of a run are waited for at once
	calls  int
	failAt int
	cancel func() // called instead of failing, when set
	value  string // of tcp_rmem on the receiver
	before string // what an open journal entry would restore
	// confirmed is the plan that was kept last.
	confirmed string
	stuck     bool // the host does not take the value back
	clamps    bool // the kernel takes the write and keeps its own value
	dumb      bool // the change has no effect on the goodput
	// gain of the change when it is made for the n-th time; nil: much, always.
	gain    func(n int) float64
	applied int
	mounts  []model.Mount
	busy    nicLoad   // what the interfaces carry, beside the samples of the window
	noRead  load.Role // a worker of this role fails
	lossy   bool      // the path loses one segment in a thousand of a sender that does not pace itself
	still   bool      // nothing moves
	paces   bool      // the run that goes on paces itself
	// What comes instead of a connection to the receiver, and to the sender;
	// empty: it comes up.
	unreached, unreachedBack model.Refusal
}

func (w *world) call(what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	if w.failAt == 0 || w.calls != w.failAt {
		return nil
	}
	if w.cancel != nil {
		w.cancel()
		return nil
	}
	return fmt.Errorf("%s: %w", what, errFake)
}

// goodput with the value in force; it drifts a little from run to run, as
// real ones do.
func (w *world) goodput() unit.BitRate {
	w.mu.Lock()
	defer w.mu.Unlock()
	drift := unit.BitRate(1 + 0.002*float64(w.calls%5))
	switch {
	case w.value == original || w.dumb:
		return 120 * unit.Mbit * drift
	case w.gain != nil:
		return 120 * unit.Mbit * drift * unit.BitRate(w.gain(w.applied))
	}
	return 930 * unit.Mbit * drift
}

const original = "4096 131072 262144"

type fakeAgent struct {
	w      *world
	name   string
	sender bool
	ended  chan struct{} // of a live view; nil: never
}

func (a *fakeAgent) Clock(context.Context) (model.Clock, error) {
	return model.Clock{Error: time.Microsecond}, a.w.call("clock")
}

func (a *fakeAgent) Facts(context.Context) (*model.Facts, error) {
	f := &model.Facts{V: 1, Host: a.name, BootID: "boot", OS: "linux", CPUs: []int{0}, Settings: map[string]model.Fact[string]{
		rmem: model.Known("4096 131072 6291456"),
	}}
	addr := sendAddr
	if !a.sender {
		addr, f.Settings[rmem] = recvAddr, model.Known(a.w.value)
	}
	f.Mounts = a.w.mounts
	f.NICs = []model.NIC{{Name: "eth0", Device: "if:eth0", MTU: 1500, Up: true, Addrs: []netip.Prefix{netip.PrefixFrom(addr, 24)}}}
	return f, a.w.call("facts")
}

func (a *fakeAgent) Apply(_ context.Context, p model.Plan) (tune.Result, error) {
	if err := a.w.call("apply"); err != nil {
		return tune.Result{}, err
	}
	c := p.Changes[0]
	if c.Setting != rmem || c.From != a.w.value || a.sender {
		return tune.Result{}, fmt.Errorf("unexpected change %+v", c)
	}
	if a.w.clamps {
		return tune.Result{}, fmt.Errorf("apply: %w", &tune.NotInForceError{Where: c.Setting, Wanted: c.To, Got: c.From})
	}
	a.w.before, a.w.value = a.w.value, c.To
	a.w.applied++
	return tune.Result{Plan: p.ID}, nil
}

func (a *fakeAgent) Undo(context.Context, string) (tune.Result, error) {
	if a.w.stuck {
		return tune.Result{}, errors.New("somebody else changed it since")
	}
	if a.w.before != "" {
		a.w.value, a.w.before = a.w.before, ""
	}
	return tune.Result{}, nil
}

func (a *fakeAgent) Confirm(_ context.Context, plan string) error {
	if err := a.w.call("confirm"); err != nil {
		return err
	}
	a.w.confirmed = plan
	return nil
}

func (a *fakeAgent) StartWorker(_ context.Context, t worker.Task) (measure.Worker, error) {
	if a.sender {
		a.w.mu.Lock()
		a.w.paces = t.Load.MaxPacing > 0
		a.w.mu.Unlock()
	}
	return &fakeWorker{a.w, *t.Load}, a.w.call("start worker")
}

func (a *fakeAgent) StartSampling(context.Context, measure.Watch, time.Duration) (func() ([]model.Sample, error), error) {
	return func() ([]model.Sample, error) { return windowSamples(a.w, a.sender), a.w.call("stop sampling") }, a.w.call("start sampling")
}

// FollowSampling hands over samples that end now.
func (a *fakeAgent) FollowSampling(_ context.Context, watch measure.Watch, _ time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	samples := windowSamples(a.w, a.sender)
	shift := time.Since(samples[len(samples)-1].HostAt)
	for i := range samples {
		s := &samples[i]
		if s.NICs = a.w.busy.at(s.HostAt.Sub(time.Unix(0, 0))).NICs; len(watch.Addrs) == 0 {
			s.Conns = nil
		}
		s.HostAt = s.HostAt.Add(shift)
		if each != nil {
			each(*s)
		}
	}
	return func() ([]model.Sample, error) { return samples, a.w.call("stop following") }, a.w.call("follow")
}

type fakeWorker struct {
	w    *world
	spec load.Spec
}

func (k *fakeWorker) PID() int             { return 1 }
func (k *fakeWorker) Addr() netip.AddrPort { return netip.AddrPortFrom(recvAddr, 5201) }
func (k *fakeWorker) Connected(context.Context) (worker.Event, error) {
	e := worker.Event{Up: load.Up{CC: "cubic"}}
	if k.spec.Role == load.Copy || k.spec.Role == load.Read || k.spec.Role == load.Write {
		e.Alone = k.alone()
	}
	if how := map[netip.Addr]model.Refusal{sendAddr: k.w.unreached, recvAddr: k.w.unreachedBack}[k.spec.Bind]; k.spec.Role == load.Source && how != "" {
		return e, &load.UnreachedError{Unreached: model.Unreached{How: how, From: k.spec.Bind, To: k.spec.Peer, Text: "as told"}}
	}
	if k.w.noRead != "" && k.spec.Role == k.w.noRead {
		return e, errFake
	}
	return e, k.w.call("connected")
}
func (k *fakeWorker) Go(context.Context) error   { return k.w.call("go") }
func (k *fakeWorker) Stop(context.Context) error { return nil }
func (k *fakeWorker) Wait(context.Context) (load.Result, error) {
	bytes := int64(float64(k.w.goodput()) / 8)
	if k.spec.Bind.IsLoopback() { // there nothing of the path holds it back
		bytes *= 100
	}
	if e := k.alone(); e != nil && k.spec.Role == load.Read && k.spec.Read.Cache == load.Dropped { // over the mount
		return load.Result{Bytes: bytes, BytesAfterWarmup: bytes, Window: time.Second, Alone: e}, k.w.call("wait")
	}
	if e := k.alone(); e != nil {
		return load.Result{Bytes: 1e9, BytesAfterWarmup: 1e9, Window: time.Second, Alone: e}, k.w.call("wait")
	}
	return load.Result{Bytes: bytes, BytesAfterWarmup: bytes, Window: time.Second}, k.w.call("wait")
}

// alone is what a worker without a peer says of itself; nil for others.
func (k *fakeWorker) alone() *load.Alone {
	switch k.spec.Role {
	case load.Copy:
		return &load.Alone{Method: "copied", Buffer: 1 << 28, InCache: 4e9}
	case load.Write:
		return &load.Alone{File: k.spec.Write.Dir + "/linerate-write-1", Size: 1 << 30, Method: "written"}
	case load.Read:
		file := k.spec.Read.File
		if file == "" {
			file = k.spec.Read.Dir + "/films/large"
		}
		return &load.Alone{File: file, Size: 1 << 30, Method: "read " + string(k.spec.Read.Cache), ReadAhead: 15 << 20}
	}
	return nil
}

// windowSamples is what a connection looks like whose receiver advertises
// 150 kB over 10 ms: the window is full all the time, the reader keeps up.
func windowSamples(w *world, sender bool) []model.Sample {
	var out []model.Sample
	rate := float64(w.goodput()) / 8
	if w.still {
		rate = 0
	}
	for i := range 55 {
		at := time.Duration(i) * 100 * time.Millisecond
		c := model.Conn{
			Local: netip.AddrPortFrom(sendAddr, 40000), Remote: netip.AddrPortFrom(recvAddr, 5201), State: 1, InfoLen: 280, CC: "cubic",
			Options: 7, SndMSS: 1448, AdvMSS: 1448, RcvMSS: 536, PMTU: 1500, RTT: 10100 * time.Microsecond, MinRTT: 10 * time.Millisecond,
			Unacked: 103, Cwnd: 240, Ssthresh: 1 << 30, SndWnd: 150000, RcvWnd: 64000, SndBuf: 1 << 20, SendQ: 700000, NotSent: 550000,
			BytesAcked: int64(rate * at.Seconds()), Busy: at, RwndLimited: at * 95 / 100, MaxPacing: -1, PacingRate: 4e8, DeliveryRate: unit.BitRate(rate * 8),
		}
		if w.lossy {
			c.SndWnd, c.Unacked, c.Cwnd, c.RwndLimited, c.RTT = 4<<20, 103, 103, 0, 10*time.Millisecond
			c.SegsOut = c.BytesAcked / 1448
			if !w.paces {
				c.TotalRetrans, c.BytesSent = int(c.SegsOut/1000), c.BytesAcked
				c.BytesRetrans = int64(c.TotalRetrans) * 1448
			}
		}
		if !sender {
			c.Local, c.Remote = c.Remote, c.Local
			c.BytesReceived, c.BytesAcked, c.SendQ, c.NotSent, c.Unacked, c.Busy, c.RwndLimited = c.BytesAcked, 0, 0, 0, 0, 0, 0
			c.RcvWnd, c.SndWnd, c.RcvBuf, c.RcvMSS = 150000, 64000, 262144, 1448
		}
		out = append(out, model.Sample{
			V: 1, At: at, HostAt: time.Unix(0, 0).Add(at), Conns: []model.Conn{c},
			CPUs: []model.CPUTime{{CPU: 0, User: at / 50, System: at / 20, Idle: at * 93 / 100}},
		})
	}
	return out
}
