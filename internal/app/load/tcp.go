package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

// Bounds of a load of TCP: both directions fit into what an agent starts.
const (
	MaxTCPStreams = 128
	maxTCPPairs   = 16
)

// TCPOptions are the options of a load of TCP.
type TCPOptions struct {
	TCPHosts
	Via string // data address of the one receiver; empty finds it
	// Workload is what one direction does. Its ends are filled in here, and its Duration includes
	// the warm-up.
	model.Workload
	CPUs          [2]CPUs // of senders and receivers
	Reverse, Both bool
	// Search finds the size of writes that moves most; without it the workload states the size.
	Search bool
}

// CPUs are where threads may run: on those of the list; without a list on any; with Near on
// those near the card towards the other end, if that card has some.
type CPUs struct {
	Near bool
	List []int
}

// TCPHosts are senders and receivers.
type TCPHosts struct {
	As    [2]string // both sides, as the user named them
	Pairs []TCPPair
}

// TCPPair is a sender and a receiver.
type TCPPair struct {
	As    [2]string // as the user named them
	Names [2]HostName
}

// Itself reports whether a host sends to itself.
func (p TCPPair) Itself() bool { return p.Names[0] == p.Names[1] }

// ParseTCPHosts reads senders and receivers, separated by commas. A single host on one side is
// paired with each on the other; equal numbers are paired in their order.
func ParseTCPHosts(from, to string) (TCPHosts, error) {
	out := TCPHosts{As: [2]string{from, to}}
	senders, receivers := strings.Split(from, ","), strings.Split(to, ",")
	n := max(len(senders), len(receivers))
	switch {
	case len(senders) != 1 && len(receivers) != 1 && len(senders) != len(receivers):
		return out, failure.Of(failure.Usage, "%s %s: %s and %s: name one on one side, or as many on both", from, to, unit.Count(len(senders), "sender"), unit.Count(len(receivers), "receiver"))
	case n > maxTCPPairs:
		return out, failure.Of(failure.Usage, "%d pairs of hosts, want at most %d", n, maxTCPPairs)
	}
	for i := range n {
		p := TCPPair{As: [2]string{senders[min(i, len(senders)-1)], receivers[min(i, len(receivers)-1)]}}
		for k, a := range p.As {
			var err error
			if p.Names[k], err = parseHost(a); err != nil {
				return out, err
			}
		}
		if slices.ContainsFunc(out.Pairs, func(o TCPPair) bool { return o.Names == p.Names }) {
			return out, failure.As(failure.Usage, &TwiceError{p.As[0] + " to " + p.As[1]})
		}
		if n > 1 && p.Itself() {
			return out, failure.Of(failure.Usage, "%s to itself, beside other pairs", p.As[0])
		}
		out.Pairs = append(out.Pairs, p)
	}
	return out, nil
}

// TCP moves bytes between the pairs. A run that ended early has no figures.
func TCP(ctx context.Context, e app.Env, o TCPOptions, p app.Progress) (*Made, error) {
	m := &mover{session: session{env: e, p: p}}
	if slices.ContainsFunc(o.Pairs, func(x TCPPair) bool { return onThisMachine(x.Names[0]) || onThisMachine(x.Names[1]) }) {
		m.session = *here(e, p)
		m.names = nil
	}
	defer m.close()
	made, err := m.make(ctx, o)
	if err != nil && ctx.Err() != nil {
		err = failure.Of(failure.Interrupted, "interrupted; a run that was cut short has no figures, and nothing was changed")
	}
	return made, err
}

// mover moves bytes in several directions at once.
type mover struct {
	session
	directions []tcpEnds
}

func (m *mover) make(ctx context.Context, o TCPOptions) (*Made, error) {
	pairs, err := m.dial(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, e := range pairs {
		if !o.Reverse {
			m.directions = append(m.directions, e)
		}
		if o.Reverse || o.Both {
			m.directions = append(m.directions, e.swapped())
		}
	}
	for _, d := range m.directions {
		m.p.Say("data path: %s (%s) → %s (%s), %s for %v", d.names[0], d.addrs[0], d.names[1], d.addrs[1], unit.Count(o.Streams, "stream"), o.Duration)
	}
	if err := m.place(ctx, o.CPUs); err != nil {
		return nil, err
	}
	var tries []WriteTry
	if o.Search {
		if o.WriteSize, tries, err = m.searchWrite(ctx, o.Workload); err != nil {
			return nil, err
		}
	}
	runs, err := m.move(ctx, o.Workload)
	m.p.End()
	if err != nil {
		return nil, err
	}
	out := summarise(runs, m.directions, o)
	out.searched(tries)
	return m.madeOfTCP(ctx, &out, o, runs), nil
}

func (m *mover) madeOfTCP(ctx context.Context, r *TCPResult, o TCPOptions, runs []model.Run) *Made {
	course := model.LoadSeries{Name: "payload received", Unit: "bit/s", Each: 1, Values: []float64{}}
	for _, s := range r.PerSecond {
		course.Values = append(course.Values, float64(s.Bytes)*8)
	}
	m.names, m.agents = nil, nil
	for _, d := range m.directions {
		for i, a := range d.agents {
			if !slices.Contains(m.agents, a) {
				m.agents, m.names = append(m.agents, a), append(m.names, d.names[i])
			}
		}
	}
	line := fmt.Sprintf("TCP %s to %s: %v in %s of %s", o.As[0], o.As[1], unit.BitRate(r.Load.Goodput),
		unit.Count(len(m.directions), "direction"), unit.Count(r.Spec.Streams, "stream"))
	return m.made(ctx, "tcp", r, line, append([]model.LoadSeries{course}, r.courses()...), runs...)
}

// tcpEnds are the two hosts of a direction, with their data addresses.
type tcpEnds struct {
	names  [2]string
	addrs  [2]netip.Addr
	agents [2]*host.Client
	cpus   [2][]int // empty: any
}

func (e tcpEnds) swapped() tcpEnds {
	return tcpEnds{names: [2]string{e.names[1], e.names[0]}, addrs: [2]netip.Addr{e.addrs[1], e.addrs[0]}, agents: [2]*host.Client{e.agents[1], e.agents[0]}}
}

// machines are the kernels that the ends run on, by the id of their boot.
func (e tcpEnds) machines() (out [2]string) {
	for i, a := range e.agents {
		if out[i] = a.Hello().BootID; out[i] == "" {
			out[i] = "host " + a.Name()
		}
	}
	return out
}

// dial reaches all hosts, each once, and finds the data paths between them.
func (m *mover) dial(ctx context.Context, o TCPOptions) (out []tcpEnds, err error) {
	reached := map[HostName]*host.Client{}
	for _, pair := range o.Pairs {
		for _, n := range pair.Names {
			if reached[n] != nil {
				continue
			}
			if reached[n], err = m.env.Reach(m.p).Dial(ctx, n); err != nil {
				return nil, err
			}
			m.agents = append(m.agents, reached[n])
		}
	}
	for _, pair := range o.Pairs {
		e, err := pair.ends(ctx, o.Via, [2]*host.Client{reached[pair.Names[0]], reached[pair.Names[1]]})
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// ends finds the data path of a pair.
func (p TCPPair) ends(ctx context.Context, via string, agents [2]*host.Client) (tcpEnds, error) {
	if !p.Itself() {
		from, to, err := reach.Path(ctx, via, p.Names[:], agents[:])
		if err != nil {
			return tcpEnds{}, err
		}
		if err := reach.TwoHosts(from, to); err != nil {
			return tcpEnds{}, fmt.Errorf("find the data path from %s to %s: %w", p.As[0], p.As[1], err)
		}
		return tcpEnds{names: p.As, addrs: [2]netip.Addr{from, to}, agents: agents}, nil
	}
	to := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if via != "" {
		var err error
		if to, err = netip.ParseAddr(via); err != nil {
			return tcpEnds{}, failure.As(failure.Usage, err)
		}
	}
	name := p.Names[0].String()
	return tcpEnds{names: [2]string{name + " sending", name + " receiving"}, addrs: [2]netip.Addr{to, to}, agents: agents}, nil
}

// place chooses the CPUs of every end.
func (m *mover) place(ctx context.Context, cpus [2]CPUs) error {
	seen := map[*host.Client]*model.Facts{}
	for i := range m.directions {
		d := &m.directions[i]
		for k, want := range cpus {
			if d.cpus[k] = want.List; !want.Near {
				continue
			}
			a := d.agents[k]
			if !a.Samples() {
				continue // linerate neither sees its cards nor chooses the CPUs of its threads
			}
			if seen[a] == nil {
				f, err := a.Facts(ctx)
				if err != nil {
					return fmt.Errorf("look at %s: %w", d.names[k], err)
				}
				seen[a] = f
			}
			d.cpus[k] = nearCard(seen[a], d.addrs[1-k])
		}
	}
	return nil
}

// nearCard are the CPUs that this host may use near the card towards an address:
// those of its NUMA node. nil: all CPUs are near it, or it is not known.
func nearCard(f *model.Facts, to netip.Addr) []int {
	route, ok := f.RouteTo(to)
	if !ok {
		return nil
	}
	for _, n := range f.NICs {
		if n.Name != route.Dev || n.LocalCPUs.State != model.Present {
			continue
		}
		var near []int
		for _, c := range n.LocalCPUs.Value {
			if slices.Contains(f.CPUs, c) {
				near = append(near, c)
			}
		}
		if len(near) < len(f.CPUs) {
			return near
		}
	}
	return nil
}

// The sizes of writes that a search tries, and for how long it tries each after a warm-up.
const (
	leastWrite = 16 * unit.KiB
	tryTime    = 2 * time.Second
	tryWarmup  = 500 * time.Millisecond
)

// searchWrite tries sizes of writes, each once, and returns the one that moved
// most.
func (m *mover) searchWrite(ctx context.Context, w model.Workload) (best unit.Bytes, tries []WriteTry, err error) {
	w.Duration, w.Warmup = tryTime+tryWarmup, tryWarmup
	most := -1.0
	for size := leastWrite; size <= unit.MiB; size *= 2 {
		w.WriteSize = size
		m.p.Say("write size: run with %v", size)
		runs, err := m.move(ctx, w)
		if err != nil {
			return 0, nil, err
		}
		t := WriteTry{Size: size}
		for _, r := range runs {
			t.Goodput += float64(r.Goodput)
		}
		tries = append(tries, t)
		if t.Goodput > most {
			best, most = size, t.Goodput
		}
	}
	return best, tries, nil
}

// rendezvous is where a number of runs wait for each other: it lets them go on once all have come.
func rendezvous(runs int) func(context.Context) error {
	var came atomic.Int64
	all := make(chan struct{})
	return func(ctx context.Context) error {
		if came.Add(1) == int64(runs) {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// move makes the runs of all directions at once.
func (m *mover) move(ctx context.Context, w model.Workload) ([]model.Run, error) {
	n := len(m.directions)
	runs, errs := make([]model.Run, n), make([]error, n)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	meet := rendezvous(n)
	watch := watchTCP(m.p, m.env.Now, n, w.Duration)
	var wg sync.WaitGroup
	for i, d := range m.directions {
		w := w
		w.Sender, w.Receiver, w.From, w.To = d.names[0], d.names[1], d.addrs[0], d.addrs[1]
		w.SenderCPUs, w.ReceiverCPUs = d.cpus[0], d.cpus[1]
		o := measure.Options{Label: "load", Now: m.env.Now, Barrier: meet}
		if n > 1 {
			o.Label = fmt.Sprintf("load %d", i+1)
		}
		if watch != nil {
			o.Each = func(host string, s model.Sample) { watch(i, host == w.Receiver, s) }
		}
		wg.Go(func() {
			runs[i], errs[i] = measure.Run(ctx, w, measure.Ends{Sender: d.agents[0], Receiver: d.agents[1]}, o)
			if errs[i] != nil {
				cancel() // a load in some of the directions is not the load that was asked for
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
	}
	return runs, errors.Join(errs...)
}
