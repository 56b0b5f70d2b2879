package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// tcpPair is a sender and a receiver, as the user named them.
type tcpPair struct {
	args  [2]string
	names [2]host.Name
}

// tcpPairs reads both sides of the command line: a host on one side goes with
// each on the other, as many on both sides go one with one.
func tcpPairs(args []string) ([]tcpPair, error) {
	senders, receivers := strings.Split(args[0], ","), strings.Split(args[1], ",")
	n := max(len(senders), len(receivers))
	switch {
	case len(senders) != 1 && len(receivers) != 1 && len(senders) != len(receivers):
		return nil, failure.Of(failure.Usage, "%s %s: %s and %s: name one on one side, or as many on both", args[0], args[1], plural(len(senders), "sender"), plural(len(receivers), "receiver"))
	case n > maxTCPPairs:
		return nil, failure.Of(failure.Usage, "%d pairs of hosts, want at most %d", n, maxTCPPairs)
	}
	var out []tcpPair
	for i := range n {
		p := tcpPair{args: [2]string{senders[min(i, len(senders)-1)], receivers[min(i, len(receivers)-1)]}}
		names, err := tcpNames(p.args[:])
		if err != nil {
			return nil, err
		}
		p.names = [2]host.Name(names)
		if slices.ContainsFunc(out, func(o tcpPair) bool { return o.names == p.names }) {
			return nil, failure.Of(failure.Usage, "%s to %s twice; use --streams for more connections", p.args[0], p.args[1])
		}
		if n > 1 && p.names[0] == p.names[1] {
			return nil, failure.Of(failure.Usage, "%s to itself, beside other pairs", p.args[0])
		}
		out = append(out, p)
	}
	return out, nil
}

func tcpNames(args []string) ([]host.Name, error) {
	var out []host.Name
	for _, a := range args {
		if a == "local" {
			a = reach.Here
		}
		n, err := host.ParseName(a)
		switch {
		case err != nil:
			return nil, failure.Of(failure.Usage, "%w", err)
		case n.Path != "" || n.Reach == host.Local:
			return nil, failure.Of(failure.Usage, "%s: name a host, without a path", a)
		}
		out = append(out, n)
	}
	return out, nil
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

// directions are what data flows in.
func (f tcpFlags) directions(pairs []tcpEnds) []tcpEnds {
	var out []tcpEnds
	for _, e := range pairs {
		switch {
		case f.reverse:
			out = append(out, e.swapped())
		case f.both:
			out = append(out, e, e.swapped())
		default:
			out = append(out, e)
		}
	}
	return out
}

// tcpHosts are the hosts of all directions, each once.
func tcpHosts(directions []tcpEnds) []string {
	var out []string
	for _, d := range directions {
		for _, n := range d.names {
			if !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// dialTCP reaches all hosts, each once, and finds the data paths between them.
// done ends the agents.
func dialTCP(ctx context.Context, env *environment, f tcpFlags, pairs []tcpPair, p *progress) (out []tcpEnds, done func(), err error) {
	reached := map[host.Name]*host.Client{}
	done = func() {
		for _, a := range reached {
			_ = a.Close() // the figures are in hand; an agent that hangs is killed
		}
	}
	for _, pair := range pairs {
		for _, n := range pair.names {
			if reached[n] != nil {
				continue
			}
			a, err := env.Reach(p).Dial(ctx, n)
			if err != nil {
				return nil, done, err
			}
			reached[n] = a
		}
	}
	if f.via != "" && slices.ContainsFunc(pairs, func(p tcpPair) bool { return p.names[1] != pairs[0].names[1] }) {
		return nil, done, failure.Of(failure.Usage, "--via %s is the data address of one receiver, and there are several", f.via)
	}
	for _, pair := range pairs {
		e, err := pair.ends(ctx, f, [2]*host.Client{reached[pair.names[0]], reached[pair.names[1]]})
		if err != nil {
			return nil, done, err
		}
		out = append(out, e)
	}
	return out, done, nil
}

// ends finds the data path of a pair.
func (p tcpPair) ends(ctx context.Context, f tcpFlags, agents [2]*host.Client) (tcpEnds, error) {
	if p.names[0] == p.names[1] {
		to := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if f.via != "" {
			var err error
			if to, err = netip.ParseAddr(f.via); err != nil {
				return tcpEnds{}, failure.Of(failure.Usage, "--via %q: want an address of this host", f.via)
			}
		}
		name := p.names[0].String()
		return tcpEnds{names: [2]string{name + " sending", name + " receiving"}, addrs: [2]netip.Addr{to, to}, agents: agents}, nil
	}
	from, to, err := reach.Path(ctx, f.via, p.names[:], agents[:])
	return tcpEnds{names: p.args, addrs: [2]netip.Addr{from, to}, agents: agents}, err
}

// rendezvous is where the runs of several directions wait for each other.
type rendezvous struct {
	mu   sync.Mutex
	left int
	all  chan struct{}
}

func newRendezvous(n int) *rendezvous { return &rendezvous{left: n, all: make(chan struct{})} }

// wait returns once all have come.
func (r *rendezvous) wait(ctx context.Context) error {
	r.mu.Lock()
	if r.left--; r.left == 0 {
		close(r.all)
	}
	r.mu.Unlock()
	select {
	case <-r.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// moveTCP makes the runs of all directions at once.
func moveTCP(ctx context.Context, env *environment, p *progress, w model.Workload, directions []tcpEnds) ([]model.Run, error) {
	runs, errs := make([]model.Run, len(directions)), make([]error, len(directions))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	meet := newRendezvous(len(directions))
	label := func(i int) string {
		if len(directions) == 1 {
			return "load"
		}
		return fmt.Sprintf("load %d", i+1)
	}
	watch := p.watchTCP(len(directions), w.Duration)
	var wg sync.WaitGroup
	for i, d := range directions {
		w := w
		w.Sender, w.Receiver, w.From, w.To = d.names[0], d.names[1], d.addrs[0], d.addrs[1]
		w.SenderCPUs, w.ReceiverCPUs = d.cpus[0], d.cpus[1]
		o := measure.Options{Label: label(i), Now: env.Now, Barrier: meet.wait}
		if watch != nil {
			o.Each = func(host string, s model.Sample) {
				watch(i, host == w.Receiver, s)
			}
		}
		wg.Go(func() {
			runs[i], errs[i] = measure.Run(ctx, w, measure.Ends{Sender: d.agents[0], Receiver: d.agents[1]}, o)
			if errs[i] != nil {
				cancel() // a part of the directions is another load than what was asked for
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
