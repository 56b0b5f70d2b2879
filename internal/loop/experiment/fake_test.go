package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/drive"
	"linerate/internal/tune"
	"linerate/internal/tune/profile"
	"linerate/internal/tune/setter"
	"linerate/internal/unit"
)

const (
	rmem = "linux.sysctl.net.ipv4.tcp_rmem"
	cc   = "linux.sysctl.net.ipv4.tcp_congestion_control"

	smallRmem = "4096 131072 262144"
	largeRmem = "4096 131072 16777216"
)

var (
	errKilled = errors.New("killed")
	moment    = time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)
)

// world is hosts whose settings decide what their path carries. It counts what the
// controller does; at killAt the controller dies: nothing that it does from then
// on has any effect. At goneAt an agent dies, and its host lives on.
type world struct {
	mu             sync.Mutex
	calls          int
	killAt, goneAt int
	hosts          map[string]*fakeHost
	now            time.Time
	blackhole      bool // the path swallows packets above 1500
	foreign        int  // so many runs see traffic that is not ours
	noEffect       bool // the buffers do not matter
	throttle       int  // so many runs throttle a CPU of the server
	throttled      int64
	lacks          string // a congestion control that workers ask for in vain
	stubborn       bool   // connections keep their own congestion control
	restart        int    // at this call client1 is restarted
	cancel         func()
	log            []string // what workers did
	cancelAt       int
	rows           map[string][]profile.Row // of plans, which take long to work out
}

// workedOut are rows of plans of all tests: they are the same, and take long.
var workedOut = map[string][]profile.Row{}

type fakeHost struct {
	name    string
	addr    netip.Addr
	values  map[string]string
	journal []tune.Entry
	waiting string
	boot    int
	kernel  string
	clamp   string // a setting that the kernel takes and does not change
	refuse  string // a setting that the kernel refuses
	fact    string // a driver, which only hands change
}

func newWorld() *world {
	host := func(n int, name string) *fakeHost {
		return &fakeHost{name: name, addr: netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}), boot: 1, kernel: "6.1.0", fact: "ixgbe",
			values: map[string]string{rmem: smallRmem, cc: "reno", setter.MTUSetting + " if:eth0": "1500"}}
	}
	return &world{now: moment, rows: workedOut, hosts: map[string]*fakeHost{"client": host(1, "client"), "server": host(2, "server"), "other": host(3, "other")}}
}

// step is one thing that the controller does; h is nil where it is to its disk.
func (w *world) step(h *fakeHost) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls++
	w.now = w.now.Add(10 * time.Millisecond)
	if w.calls == w.cancelAt && w.cancel != nil {
		w.cancel()
	}
	if w.calls == w.restart && h != nil {
		w.boot(w.hosts["client"])
	}
	if w.killAt > 0 && w.calls >= w.killAt {
		return errKilled
	}
	return nil
}

// boot restarts a host: what runs is as it is configured.
func (w *world) boot(h *fakeHost) {
	h.boot++
	h.waiting = ""
	for _, e := range slices.Backward(h.journal) {
		if e.State == tune.Applied {
			h.values[key(e.Setting, e.Target)] = e.Before
		}
	}
	h.journal = nil // closed: the restart undid it
}

func key(setting, target string) string {
	if target == "" {
		return setting
	}
	return setting + " " + target
}

// deadMen lets every host undo what nobody confirmed.
func (w *world) deadMen() {
	for _, h := range w.hosts {
		if h.waiting != "" {
			h.undo(h.waiting)
		}
	}
}

func (h *fakeHost) undo(plan string) {
	for i, e := range slices.Backward(h.journal) {
		if e.Plan == plan && e.State == tune.Applied {
			h.values[key(e.Setting, e.Target)] = e.Before
			h.journal[i].State = tune.Undone
		}
	}
	if h.waiting == plan {
		h.waiting = ""
	}
}

// state of all hosts, to be compared.
func (w *world) state() map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, h := range w.hosts {
		out[name] = maps.Clone(h.values)
		out[name]["waiting"] = h.waiting
	}
	return out
}

type fakeAgent struct {
	w    *world
	h    *fakeHost
	gone bool
}

func (w *world) dial(h *fakeHost) func(context.Context) (Agent, error) {
	return func(context.Context) (Agent, error) {
		if err := w.step(h); err != nil {
			return nil, err
		}
		return &fakeAgent{w: w, h: h}, nil
	}
}

func (a *fakeAgent) step() error {
	if err := a.w.step(a.h); err != nil {
		return err
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	if a.w.calls == a.w.goneAt {
		a.gone = true
	}
	if a.gone {
		return errors.New("agent ended")
	}
	return nil
}

func (a *fakeAgent) Close() error { return nil }

func (a *fakeAgent) Clock(context.Context) (model.Clock, error) {
	return model.Clock{Error: time.Microsecond}, a.step()
}

func (a *fakeAgent) bootID() string { return fmt.Sprintf("%s-%d", a.h.name, a.h.boot) }

func (a *fakeAgent) Facts(context.Context) (*model.Facts, error) {
	if err := a.step(); err != nil {
		return nil, err
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	mtu, err := strconv.Atoi(a.h.values[setter.MTUSetting+" if:eth0"])
	return &model.Facts{V: 1, Host: "lab:" + a.h.name, BootID: a.bootID(), OS: "linux", Kernel: a.h.kernel, CPUs: []int{0},
		Settings: map[string]model.Fact[string]{rmem: model.Known(a.h.values[rmem]), cc: model.Known(a.h.values[cc])},
		NICs: []model.NIC{{Name: "eth0", Device: "if:eth0", MTU: mtu, Up: true, Driver: model.Known(a.h.fact),
			Addrs: []netip.Prefix{netip.PrefixFrom(a.h.addr, 24)}}},
		Routes: []model.Route{{Dst: netip.PrefixFrom(a.h.addr, 24).Masked(), Dev: "eth0", Metric: 7}},
	}, err
}

func (a *fakeAgent) ReadSetting(_ context.Context, setting, target, _ string) (string, error) {
	if err := a.step(); err != nil {
		return "", err
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	v, ok := a.h.values[key(setting, target)]
	if !ok {
		return "", fmt.Errorf("read %s: not here", setting)
	}
	return v, nil
}

// Apply does as a host does: all of a plan, or none of it.
func (a *fakeAgent) Apply(_ context.Context, p model.Plan) (tune.Result, error) {
	if err := a.step(); err != nil {
		return tune.Result{}, err
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	if p.BootID != a.bootID() {
		return tune.Result{}, errors.New("the host was restarted since")
	}
	if a.h.waiting != "" && a.h.waiting != p.ID {
		return tune.Result{}, fmt.Errorf("%w: %s", tune.ErrUnconfirmed, a.h.waiting)
	}
	for _, c := range p.Changes {
		at := key(c.Setting, c.Target)
		if slices.ContainsFunc(a.h.journal, func(e tune.Entry) bool {
			return e.Plan == p.ID && e.State == tune.Applied && key(e.Setting, e.Target) == at
		}) {
			continue
		}
		switch {
		case a.h.values[at] != c.From:
			a.h.undo(p.ID)
			return tune.Result{}, &tune.ChangedError{Where: at, Planned: c.From, Found: a.h.values[at]}
		case a.h.refuse == c.Setting:
			a.h.undo(p.ID)
			return tune.Result{}, fmt.Errorf("write %s: invalid argument", at)
		case a.h.clamp == c.Setting:
			a.h.undo(p.ID)
			return tune.Result{}, &tune.NotInForceError{Where: at, Wanted: c.To, Got: c.From}
		}
		a.h.journal = append(a.h.journal, tune.Entry{Seq: len(a.h.journal) + 1, Plan: p.ID, Setting: c.Setting, Target: c.Target, Before: c.From, Wanted: c.To, After: c.To, State: tune.Applied})
		a.h.values[at] = c.To
	}
	if p.DeadMan() > 0 {
		a.h.waiting = p.ID
	}
	return tune.Result{Plan: p.ID}, nil
}

func (a *fakeAgent) Thermal(context.Context) (model.Thermal, error) {
	if err := a.step(); err != nil {
		return model.Thermal{}, err
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	if a.h.name != "server" {
		return model.Thermal{}, nil
	}
	return model.Thermal{Throttled: map[string]int64{"cpu0 core": a.w.throttled}}, nil
}

func (a *fakeAgent) Confirm(_ context.Context, plan string) error {
	if err := a.step(); err != nil {
		return err
	}
	if a.h.waiting != plan {
		return tune.ErrTooLate
	}
	a.h.waiting = ""
	return nil
}

func (a *fakeAgent) Undo(_ context.Context, plan string) (tune.Result, error) {
	if err := a.step(); err != nil {
		return tune.Result{}, err
	}
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.h.undo(plan)
	return tune.Result{Plan: plan}, nil
}

func (a *fakeAgent) OpenJournal(context.Context) ([]tune.Entry, error) {
	if err := a.step(); err != nil {
		return nil, err
	}
	var open []tune.Entry
	for _, e := range a.h.journal {
		if e.State == tune.Applied {
			open = append(open, e)
		}
	}
	return open, nil
}

func (a *fakeAgent) ProbePath(_ context.Context, _ netip.Addr, size int) error {
	if err := a.step(); err != nil {
		return err
	}
	if a.w.blackhole && size > 1500 {
		return errors.New("no answer")
	}
	return nil
}

func (a *fakeAgent) StartWorker(_ context.Context, t worker.Task) (measure.Worker, error) {
	return &fakeWorker{a, *t.Load}, a.step()
}

// tooLargeRmem is better than a small buffer and worse than the right one, so that no order of
// the three is left to a hair.
const tooLargeRmem = "4096 131072 67108864"

// goodput is decided by the receiver's buffer, within a hair.
func (w *world) goodput() unit.BitRate {
	hair := unit.BitRate(1 + 0.001*float64(w.calls%5))
	switch buffer := w.hosts["client"].values[rmem]; {
	case buffer == largeRmem && !w.noEffect:
		return 900 * unit.Mbit * hair
	case buffer == tooLargeRmem:
		return 300 * unit.Mbit * hair
	}
	return 100 * unit.Mbit * hair
}

func (a *fakeAgent) StartSampling(context.Context, measure.Watch, time.Duration) (func() ([]model.Sample, error), error) {
	if err := a.step(); err != nil {
		return nil, err
	}
	return func() ([]model.Sample, error) { return a.samples(), a.step() }, nil
}

// samples are two: of the beginning and of the end of a second.
func (a *fakeAgent) samples() []model.Sample {
	w := a.w
	w.mu.Lock()
	defer w.mu.Unlock()
	bytes := int64(w.goodput() / 8)
	sends := a.h.name == "server"
	mtu, _ := strconv.Atoi(a.h.values[setter.MTUSetting+" if:eth0"]) // the fake's own
	conn := model.Conn{Local: netip.AddrPortFrom(a.h.addr, 1), Remote: netip.AddrPortFrom(netip.MustParseAddr("192.0.2.9"), 2), CC: a.h.values[cc],
		SndMSS: mtu - 52, Options: 7, RcvBuf: 200000, SndBuf: 200000}
	if w.stubborn {
		conn.CC = "reno"
	}
	end := conn
	end.SegsOut, end.SegsIn = bytes/int64(conn.SndMSS), bytes/int64(conn.SndMSS)/2
	if sends {
		end.BytesAcked, end.BytesSent, end.DataSegsOut, end.TotalRetrans = bytes, bytes, end.SegsOut, int(end.SegsOut/100)
	} else {
		end.BytesReceived = bytes
		end.SegsIn, end.SegsOut = end.SegsOut, end.SegsIn
	}
	if w.throttle > 0 && !sends {
		w.throttle--
		w.throttled++
	}
	foreign := int64(0)
	if w.foreign > 0 && !sends {
		w.foreign--
		foreign = 10e6
	}
	return []model.Sample{
		{V: 1, HostAt: w.now.Add(700 * time.Millisecond), Conns: []model.Conn{conn}, NICs: []model.NICCount{{Name: "eth0"}}, CPUs: []model.CPUTime{{}}},
		{V: 1, HostAt: w.now.Add(1700 * time.Millisecond), Conns: []model.Conn{end}, CPUs: []model.CPUTime{{System: 300 * time.Millisecond, SoftIRQ: 100 * time.Millisecond, Idle: 600 * time.Millisecond}},
			NICs: []model.NICCount{{Name: "eth0", RxBytes: end.BytesReceived + foreign, TxBytes: end.BytesSent}}},
	}
}

// record is a real one that dies with its world's controller.
type record struct {
	*store.StudyState
	w *world
}

func (r record) Put(e store.StudyEntry) error {
	if err := r.w.step(nil); err != nil {
		return err
	}
	return r.StudyState.Put(e)
}

func (r record) PutFacts(f *model.Facts) error {
	if err := r.w.step(nil); err != nil {
		return err
	}
	return r.StudyState.PutFacts(f)
}

func (r record) PutSamples(label string, s map[string][]model.Sample) error {
	if err := r.w.step(nil); err != nil {
		return err
	}
	return r.StudyState.PutSamples(label, s)
}

// example has a step of the baseline on both hosts, and three factors: a buffer, a
// congestion control, and a load with another number of bytes in a write.
func example() model.StudyFile {
	set := func(host, setting, value string) model.StudySetting {
		return model.StudySetting{Host: host, Setting: setting, Value: value}
	}
	return model.StudyFile{
		V: 1, Name: "example", Hosts: map[string]string{"client": "lab:client", "server": "lab:server"}, Primary: "bulk",
		Baseline: []model.StudyLevel{{Name: "jumbo", Set: []model.StudySetting{set("client", setter.MTUSetting, "9000"), set("server", setter.MTUSetting, "9000")}}},
		Factors: []model.StudyFactor{
			{Name: "buffers", Levels: []model.StudyLevel{{Name: "large", Set: []model.StudySetting{set("client", rmem, largeRmem), set("server", rmem, largeRmem)}}}},
			{Name: "cc", Hard: true, Levels: []model.StudyLevel{{Name: "cubic", Set: []model.StudySetting{set("server", cc, "cubic")}}}},
			{Name: "writes", Levels: []model.StudyLevel{{Name: "small", Workload: map[string]string{"write_size": "4KiB"}}}},
		},
		Workloads: []model.StudyWorkload{{Name: "bulk", Kind: "tcp", Senders: []string{"server"}, Receivers: []string{"client"}, Streams: 1, Duration: time.Second, Warmup: time.Second}},
		Protocol:  model.StudyProtocol{Name: "linerate", Design: "one-at-a-time", Margin: 1.02, Alpha: 0.045, Looks: []int{2}, Seed: 7},
	}
}

// begun is a study of a world, new on disk or taken up again.
func begun(t *testing.T, w *world, f model.StudyFile, root, id string) *Experiment {
	t.Helper()
	var state *store.StudyState
	var past *store.StudyPast
	var err error
	if id == "" {
		state, err = store.CreateStudy(root, store.StudyBegin{File: f}, []byte("v: 1\n"), moment)
	} else {
		state, past, err = store.ResumeStudy(root, id)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() }) // most tests have closed it before
	d, err := drive.New(f)
	if err != nil {
		t.Fatal(err)
	}
	x := &Experiment{ID: state.ID(), File: f, Director: d, Record: record{state, w}, Past: past, patience: time.Nanosecond, rows: w.rows,
		Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Route: func(_ context.Context, from, to *Host) (netip.Addr, netip.Addr, error) {
			return w.hosts[from.Name].addr, w.hosts[to.Name].addr, nil
		}}
	for _, name := range slices.Sorted(maps.Keys(f.Hosts)) {
		x.Hosts = append(x.Hosts, &Host{Name: name, At: f.Hosts[name], Dial: w.dial(w.hosts[name])})
	}
	return x
}

func closeState(t *testing.T, x *Experiment) {
	t.Helper()
	if err := x.Record.(record).Close(); err != nil {
		t.Fatal(err)
	}
}

// values lists the outcomes of the runs that count, by what was treated.
func values(runs []model.StudyRun) map[string][]float64 {
	out := map[string][]float64{}
	for _, r := range runs {
		if r.Counted && r.Value != nil {
			name := cmp.Or(r.Factor, "baseline")
			out[name] = append(out[name], *r.Value)
		}
	}
	return out
}
