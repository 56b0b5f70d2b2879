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
	"strings"

	"linerate/internal/explain"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
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
	defer p.End()
	agents, err := env.Reach(p).DialAll(ctx, names)
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
	rec.Results.Command, rec.Results.Build = "explain "+strings.Join(args, " "), env.Build
	return conclude(env, rec)
}

// pair is two hosts that were reached, as the user named them.
type pair struct {
	names  []host.Name
	args   []string
	agents []*host.Client
}

func climb(ctx context.Context, env *environment, o explainOptions, h pair, rate model.Fact[unit.BitRate], p *progress) (*loop.Record, error) {
	export, via, err := findExport(ctx, o, h)
	if err != nil {
		return nil, err
	}
	if o.via == "" {
		o.via = via
	}
	from, to, err := reach.Path(ctx, o.via, h.names, h.agents)
	var unrouted *reach.NoRouteError
	if err != nil && !errors.As(err, &unrouted) {
		return nil, err
	}
	if rate.State != model.Present {
		rate = env.Reach(p).StatedRate(ctx, h.names[0], h.names[1], to)
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
	p.Say("data path: %s (%s) → %s (%s)", sender.Name, sender.Addr, receiver.Name, receiver.Addr)
	c := loop.Climb{
		Loop: loop.Loop{
			Sender: sender, Receiver: receiver,
			Workload: model.Workload{Streams: o.streams, CC: o.cc}, LineRate: rate, Timing: loop.DefaultTiming(),
			Now: env.Now, Progress: func(s string) { p.Say("%s", s) },
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
		LineRate: rate, Now: env.Now, Progress: func(s string) { p.Say("%s", s) },
	}}
	return c.Unrouted(ctx, to)
}

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
		p.Say("%s has not mounted %s of %s: what can be measured is the network and the server's storage", client.Name, e.Path, server.Name)
		return nil, nil
	}
	p.Say("watching %s from both ends for a transfer, without load", e.Mount.Point)
	c := loop.Climb{
		Loop: loop.Loop{
			Sender: server, Receiver: client, LineRate: rate,
			Now: env.Now, Progress: func(s string) { p.Say("%s", s) },
		},
		Export: e,
	}
	return c.WatchExport(ctx, o.watch)
}

// pairNames reads the two hosts. A path belongs to the second, the server.
func pairNames(o explainOptions, args []string) ([]host.Name, error) {
	var out []host.Name
	for _, a := range args {
		n, err := host.ParseName(a)
		if err != nil {
			return nil, failure.Of(failure.Usage, "%w", err)
		}
		out = append(out, n)
	}
	server := out[1]
	server.Path = ""
	switch {
	case out[0].Path != "":
		return nil, failure.Of(failure.Usage, "explain %s %s: the client has no path; name two hosts (client1, user@nas1, lab:client1, localhost), the second with its export where that is to be read: nas1:/export", args[0], args[1])
	case out[0] == server:
		return nil, failure.Of(failure.Usage, "explain %s %s: name two different hosts", args[0], args[1])
	case out[1].Path != "" && !path.IsAbs(out[1].Path):
		return nil, failure.Of(failure.Usage, "explain %s: the export is an absolute path on the server, e.g. nas1:/export", args[1])
	case o.write != "" && (out[1].Path == "" || !path.IsAbs(o.write)):
		return nil, failure.Of(failure.Usage, "--write %s: name the export, %s:/export, and an absolute path on %s's mount of it", o.write, args[1], args[0])
	case o.file != "" && out[1].Path == "":
		return nil, failure.Of(failure.Usage, "--file %s: name the export that it lies in: %s:/export", o.file, args[1])
	case o.file != "" && !filepath.IsLocal(o.file):
		return nil, failure.Of(failure.Usage, "--file %q: want a path below the export, e.g. images/big.iso", o.file)
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
		return failure.Of(failure.Usage, "%s: allow it with --load", what)
	}
	if tty, _ := isTerminal(in); !tty {
		return failure.Of(failure.Usage, "%s: allow it with --load", what)
	}
	fmt.Fprintf(env.err, "%s. Go on? [y/N] ", what)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return failure.Of(failure.Nothing, "nothing was loaded")
	}
	return nil
}
