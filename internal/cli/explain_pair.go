package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"

	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// explainPair runs TCP between two hosts and judges it from both ends. It
// changes nothing on either.
func explainPair(ctx context.Context, env *environment, o explainOptions, args []string, rate model.Fact[unit.BitRate]) error {
	names, err := pairNames(args)
	if err != nil {
		return err
	}
	if err := o.mayLoad(env, names); err != nil {
		return err
	}
	p := newProgress(env)
	defer p.end()
	var agents []*host.Client
	defer func() {
		for _, a := range agents {
			_ = a.Close()
		}
	}()
	for _, n := range names {
		a, err := dialHost(ctx, env, n, p)
		if err != nil {
			return err
		}
		agents = append(agents, a)
	}
	from, to, err := dataPath(ctx, o, names, agents)
	if err != nil {
		return err
	}
	p.say("data path: %s (%s) → %s (%s)", args[0], from, args[1], to)
	if rate.State != model.Present {
		rate = statedRate(ctx, env, names, to, p)
	}
	pass := loop.Loop{
		Sender: loop.End{Name: args[0], Addr: from, Agent: agents[0]}, Receiver: loop.End{Name: args[1], Addr: to, Agent: agents[1]},
		Workload: model.Workload{Streams: o.streams, CC: o.cc}, LineRate: rate, Timing: loop.DefaultTiming(),
		Now: env.now, Progress: func(s string) { p.say("%s", s) },
	}
	rec, err := pass.Run(ctx)
	if err != nil {
		return err
	}
	rec.Results.Command, rec.Results.Build = "explain "+strings.Join(args, " "), version().String()
	return conclude(env, rec)
}

// statedRate is what the description of a lab promises for its flow, as a port's
// speed would; it says nothing of faults. Elsewhere nothing is stated.
func statedRate(ctx context.Context, env *environment, names []host.Name, to netip.Addr, p *progress) model.Fact[unit.BitRate] {
	none := model.Unknown[unit.BitRate](model.Absent, "not stated; --line-rate states it")
	if names[0].Reach != host.Lab || names[1].Reach != host.Lab || names[0].Lab != names[1].Lab {
		return none
	}
	c, err := findLab(env, names[0].Lab)
	if err != nil {
		return none
	}
	s, err := c.Status(ctx)
	if err != nil || !slices.Contains(s.Flow.From, names[0].Host) || s.Flow.To != names[1].Host {
		return none
	}
	h, err := hostOf(s, names[1].Host)
	if err != nil || h.Data != to.String() {
		return none
	}
	p.say("line rate: %s, as topology %s states it", unit.BitRate(s.Flow.Rate), s.Topology)
	return model.Known(unit.BitRate(s.Flow.Rate))
}

// pairNames reads the two hosts. A path has no place here: what is measured is
// the network between them.
func pairNames(args []string) ([]host.Name, error) {
	var out []host.Name
	for _, a := range args {
		n, err := host.ParseName(a)
		if err != nil {
			return nil, exit(ExitUsage, "%w", err)
		}
		if n.Path != "" {
			return nil, exit(ExitUsage, "explain %s: name two hosts without a path (client1, user@nas1, lab:client1, localhost), or one mount", a)
		}
		out = append(out, n)
	}
	if out[0] == out[1] {
		return nil, exit(ExitUsage, "explain %s %s: name two different hosts", args[0], args[1])
	}
	return out, nil
}

// mayLoad asks before anything is sent: load on a production network is the
// user's to allow.
func (o explainOptions) mayLoad(env *environment, names []host.Name) error {
	what := fmt.Sprintf("explain runs TCP at full speed from %s to %s for %s", names[0], names[1], loop.DefaultTiming().Diagnosis)
	if o.load {
		return nil
	}
	in, ok := env.in.(*os.File)
	if !ok || env.json {
		return exit(ExitUsage, "%s: allow it with --load", what)
	}
	if tty, _ := isTerminal(in); !tty {
		return exit(ExitUsage, "%s: allow it with --load", what)
	}
	fmt.Fprintf(env.err, "%s. Go on? [y/N] ", what)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return exit(ExitNothing, "nothing was sent")
	}
	return nil
}

// dialHost starts an agent on a host by its name.
func dialHost(ctx context.Context, env *environment, n host.Name, p *progress) (*host.Client, error) {
	ep, err := endpoint(ctx, env, n)
	if err != nil {
		return nil, err
	}
	c, err := host.Dial(ctx, ep, host.Options{Log: p.detail, Now: env.now})
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", n, err)
	}
	return c, nil
}

const thisHost = "localhost"

func endpoint(ctx context.Context, env *environment, n host.Name) (host.Endpoint, error) {
	switch {
	case n.Reach == host.Lab:
		return labHost(ctx, env, n)
	case n.Host == thisHost && n.User == "":
		return host.Endpoint{Name: thisHost, Self: env.self}, nil
	}
	return host.Ssh{Binary: ownBinary(env)}.Reach(ctx, n, nil)
}

// ownBinary is this very program, for hosts of the same kind.
func ownBinary(env *environment) func(goos, goarch string) (string, error) {
	return func(goos, goarch string) (string, error) {
		if goos != runtime.GOOS || goarch != runtime.GOARCH {
			return "", fmt.Errorf("copy linerate to a host of %s/%s: this build is for %s/%s; start it from a machine of the same kind", goos, goarch, runtime.GOOS, runtime.GOARCH)
		}
		return os.Executable()
	}
}

// dataPath chooses the addresses that carry the data: --via, else the lab's,
// else what the receiver's name resolves to; and the sender's on the same
// network.
func dataPath(ctx context.Context, o explainOptions, names []host.Name, agents []*host.Client) (from, to netip.Addr, err error) {
	if to, err = receiverAddr(ctx, o, names[1], agents[1]); err != nil {
		return from, to, err
	}
	f, err := agents[0].Facts(ctx)
	if err != nil {
		return from, to, fmt.Errorf("look at %s: %w", names[0], err)
	}
	if from, err = sourceFor(f, to); err != nil {
		return from, to, fmt.Errorf("find the data path from %s: %w", names[0], err)
	}
	return from, to, nil
}

func receiverAddr(ctx context.Context, o explainOptions, n host.Name, agent *host.Client) (netip.Addr, error) {
	if o.via != "" {
		a, err := netip.ParseAddr(o.via)
		if err != nil {
			return a, exit(ExitUsage, "--via %q: want the receiver's data address, e.g. 10.0.0.2", o.via)
		}
		return a, nil
	}
	if data := agent.Data(); len(data) > 0 {
		return data[0], nil
	}
	if n.Host == thisHost {
		return netip.Addr{}, exit(ExitUsage, "name the data address that data is to be sent to with --via: this machine may have several")
	}
	addrs, err := kernel.Resolve(ctx, n.Host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the data address of %s: %w; name it with --via", n, err)
	}
	return addrs[0], nil
}

// sourceFor is the sender's address towards a destination: the one its route
// names, else that of the interface the route leads through.
func sourceFor(f *model.Facts, to netip.Addr) (netip.Addr, error) {
	best := -1
	var route model.Route
	for _, n := range f.NICs {
		for _, p := range n.Addrs {
			if p.Contains(to) && p.Bits() > best {
				best, route = p.Bits(), model.Route{Dev: n.Name, Src: p.Addr()}
			}
		}
	}
	for _, r := range f.Routes {
		if r.Dst.Contains(to) && r.Dst.Bits() > best {
			best, route = r.Dst.Bits(), r
		}
	}
	if best < 0 {
		return netip.Addr{}, fmt.Errorf("no route to %s", to)
	}
	if route.Src.IsValid() {
		return route.Src, nil
	}
	i := slices.IndexFunc(f.NICs, func(n model.NIC) bool { return n.Name == route.Dev })
	if i >= 0 {
		for _, p := range f.NICs[i].Addrs {
			if p.Addr().Is4() == to.Is4() && !p.Addr().IsLinkLocalUnicast() {
				return p.Addr(), nil
			}
		}
	}
	return netip.Addr{}, errors.New("the interface " + route.Dev + " has no address of that kind")
}
