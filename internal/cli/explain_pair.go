package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"linerate/internal/explain"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// explainPair climbs the ladder between two hosts and judges it from both ends.
// It changes nothing on either. With a path on the second host the first is its
// client: a transfer that runs is watched, otherwise the export is read.
func explainPair(ctx context.Context, env *environment, o explainOptions, args []string, rate model.Fact[unit.BitRate]) error {
	names, err := pairNames(o, args)
	if err != nil {
		return err
	}
	if names[1].Path == "" { // with a path it is looked at first
		if err := o.mayLoad(env, names); err != nil {
			return err
		}
	}
	p := newProgress(env)
	defer p.end()
	agents, err := dialAll(ctx, env, names, p)
	defer func() {
		for _, a := range agents {
			_ = a.Close()
		}
	}()
	if err != nil {
		return err
	}
	rec, err := climb(ctx, env, o, pair{names, args, agents}, rate, p)
	if err != nil {
		return err
	}
	rec.Results.Command, rec.Results.Build = "explain "+strings.Join(args, " "), version().String()
	return conclude(env, rec)
}

// pair is two hosts that were reached, as the user named them.
type pair struct {
	names  []host.Name
	args   []string
	agents []*host.Client
}

// dialAll starts an agent on every host; with an error it returns those that
// were started before.
func dialAll(ctx context.Context, env *environment, names []host.Name, p *progress) (agents []*host.Client, err error) {
	for _, n := range names {
		a, err := dialHost(ctx, env, n, p)
		if err != nil {
			return agents, err
		}
		agents = append(agents, a)
	}
	return agents, nil
}

func climb(ctx context.Context, env *environment, o explainOptions, h pair, rate model.Fact[unit.BitRate], p *progress) (*loop.Record, error) {
	export, via, err := findExport(ctx, o, h)
	if err != nil {
		return nil, err
	}
	if o.via == "" {
		o.via = via
	}
	from, to, err := dataPath(ctx, o, h.names, h.agents)
	var unrouted *noRouteError
	if err != nil && !errors.As(err, &unrouted) {
		return nil, err
	}
	if rate.State != model.Present {
		rate = statedRate(ctx, env, h.names, to, p)
	}
	if unrouted != nil {
		return unroutedPair(ctx, env, h, rate, to, p)
	}
	sender := loop.End{Name: h.args[0], Addr: from, Agent: h.agents[0]}
	receiver := loop.End{Name: h.args[1], Addr: to, Agent: h.agents[1]}
	if export != nil {
		receiver.Name = strings.TrimSuffix(h.args[1], ":"+h.names[1].Path)
		rec, err := watchMount(ctx, env, o, sender, receiver, export, rate, p)
		if rec != nil || err != nil {
			return rec, err
		}
		if err := o.mayLoad(env, h.names); err != nil {
			return nil, err
		}
		sender, receiver = receiver, sender // as a read flows
	}
	p.say("data path: %s (%s) → %s (%s)", sender.Name, sender.Addr, receiver.Name, receiver.Addr)
	c := loop.Climb{
		Loop: loop.Loop{
			Sender: sender, Receiver: receiver,
			Workload: model.Workload{Streams: o.streams, CC: o.cc}, LineRate: rate, Timing: loop.DefaultTiming(),
			Now: env.now, Progress: func(s string) { p.say("%s", s) },
		},
		Streams: o.streams, Export: export, Write: o.write,
	}
	return c.Run(ctx)
}

// unroutedPair is what there is to say when the first host has no route to the
// second.
func unroutedPair(ctx context.Context, env *environment, h pair, rate model.Fact[unit.BitRate], to netip.Addr, p *progress) (*loop.Record, error) {
	c := loop.Climb{Loop: loop.Loop{
		Sender: loop.End{Name: h.args[0], Agent: h.agents[0]}, Receiver: loop.End{Name: strings.TrimSuffix(h.args[1], ":"+h.names[1].Path), Agent: h.agents[1]},
		LineRate: rate, Now: env.now, Progress: func(s string) { p.say("%s", s) },
	}}
	return c.Unrouted(ctx, to)
}

// noRouteError: the main routing table leads nowhere near an address.
type noRouteError struct{ to netip.Addr }

// Error implements error.
func (e *noRouteError) Error() string { return fmt.Sprintf("no route to %s", e.to) }

// findExport is the export that the second name's path is; nil without one.
// via is the address that the client has it mounted from.
func findExport(ctx context.Context, o explainOptions, h pair) (export *loop.Export, via string, err error) {
	dir := h.names[1].Path
	if dir == "" {
		return nil, "", nil
	}
	var f [2]*model.Facts
	for i, a := range h.agents {
		if f[i], err = a.Facts(ctx); err != nil {
			return nil, "", fmt.Errorf("look at %s: %w", h.names[i], err)
		}
	}
	also := h.agents[1].Data()
	if a, err := netip.ParseAddr(o.via); err == nil {
		also = append(also, a)
	}
	e := loop.FindExport(f[0], f[1], dir, also...)
	e.File = o.file
	return &e, e.Mount.Options["addr"], nil
}

// watchMount looks whether a transfer runs over the client's mount, and if so
// judges it from both ends without any load. It returns nothing when the mount is idle.
func watchMount(ctx context.Context, env *environment, o explainOptions, client, server loop.End, e *loop.Export, rate model.Fact[unit.BitRate], p *progress) (*loop.Record, error) {
	if e.Mount.Point == "" {
		p.say("%s has not mounted %s of %s: what can be measured is the network and the server's storage", client.Name, e.Path, server.Name)
		return nil, nil
	}
	p.say("watching %s from both ends for a transfer, without load", e.Mount.Point)
	c := loop.Climb{
		Loop: loop.Loop{
			Sender: server, Receiver: client, LineRate: rate,
			Now: env.now, Progress: func(s string) { p.say("%s", s) },
		},
		Export: e,
	}
	return c.WatchExport(ctx, o.watch)
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

// pairNames reads the two hosts. A path belongs to the second, the server.
func pairNames(o explainOptions, args []string) ([]host.Name, error) {
	var out []host.Name
	for _, a := range args {
		n, err := host.ParseName(a)
		if err != nil {
			return nil, exit(ExitUsage, "%w", err)
		}
		out = append(out, n)
	}
	server := out[1]
	server.Path = ""
	switch {
	case out[0].Path != "":
		return nil, exit(ExitUsage, "explain %s %s: the client has no path; name two hosts (client1, user@nas1, lab:client1, localhost), the second with its export where that is to be read: nas1:/export", args[0], args[1])
	case out[0] == server:
		return nil, exit(ExitUsage, "explain %s %s: name two different hosts", args[0], args[1])
	case out[1].Path != "" && !path.IsAbs(out[1].Path):
		return nil, exit(ExitUsage, "explain %s: the export is an absolute path on the server, e.g. nas1:/export", args[1])
	case o.write != "" && (out[1].Path == "" || !path.IsAbs(o.write)):
		return nil, exit(ExitUsage, "--write %s: name the export, %s:/export, and an absolute path on %s's mount of it", o.write, args[1], args[0])
	case o.file != "" && out[1].Path == "":
		return nil, exit(ExitUsage, "--file %s: name the export that it lies in: %s:/export", o.file, args[1])
	case o.file != "" && !filepath.IsLocal(o.file):
		return nil, exit(ExitUsage, "--file %q: want a path below the export, e.g. images/big.iso", o.file)
	}
	return out, nil
}

// loads is what the ladder puts on hosts and link, before it is allowed to.
func (o explainOptions) loads(names []host.Name) string {
	t, r := loop.DefaultTiming(), loop.DefaultRungTime()
	s := fmt.Sprintf("explain runs TCP at full speed between %s and %s for %s, and %s each in several streams both ways; before that a copy of memory (%s) and TCP inside each host (%s)",
		names[0], names[1], t.Diagnosis, r.Streams, r.Copy, 2*r.Loopback)
	s += fmt.Sprintf("; where losses have two possible causes, TCP once more, evenly at the rate reached, for at most %s", explain.LongestPaced())
	if names[1].Path != "" {
		s += fmt.Sprintf("; then it reads one file of the export, on the server and over the mount, for at most %s each", r.Read)
	}
	if o.write != "" {
		return s + fmt.Sprintf("; then it writes a new file below %s on %s for at most %s and removes it. It stops when others need the link", o.write, names[0], r.Read)
	}
	return s + ". It writes nothing and stops when others need the link"
}

// mayLoad asks before anything is loaded: load on a production network is the
// user's to allow.
func (o explainOptions) mayLoad(env *environment, names []host.Name) error {
	what := o.loads(names)
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
		return exit(ExitNothing, "nothing was loaded")
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
	route, ok := f.RouteTo(to)
	if !ok {
		return netip.Addr{}, &noRouteError{to}
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
