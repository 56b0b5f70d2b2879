// Command fleet measures a site of many hosts: real agents' code, the real desk and a real broker
// with TLS and rights, over this machine's loopback. The hosts are simulated: what each answers is
// this machine's facts, read once, so that their own work is no part of the figures. The agents,
// the broker, and the desk with the controller are a process each.
//
//	unshare -n sh -c 'ip link set lo up && go run ./bench/fleet -n 1000'
//
// In a network namespace of its own the loopback's counters tell the bytes. With -same it compares
// instead what a site over three brokers and ssh say of hosts that are network namespaces.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/bench/kit"
	"linerate/internal/app"
	"linerate/internal/app/check"
	"linerate/internal/fleet"
	"linerate/internal/fleet/broker"
	"linerate/internal/fleet/desk"
	"linerate/internal/reach"
)

// roles are the arguments by which this program is another process of the bench.
const (
	brokerRole = "broker"
	agentsRole = "agents"
)

func main() {
	n := flag.Int("n", 1000, "how many hosts")
	idle := flag.Duration("idle", time.Minute, "how long the site is watched while nobody asks anything")
	lasts := flag.Duration("live", 0, "for how long live samples of all hosts are taken; 0: not")
	prometheus := flag.Bool("prometheus", false, "have Prometheus scrape as many hosts for as long, in the same run")
	same := flag.Int("same", 0, "compare so many hosts over ssh and as a site over three brokers instead; 0: do not")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case natsRole:
		err = natsServer()
	case brokerRole:
		err = broker.Main(context.Background(), os.Stdin, os.Stdout)
	case agentsRole:
		err = agents(os.Stdin)
	case "":
		if *same > 0 {
			err = compare(context.Background(), *same)
		} else {
			err = run(*n, *idle, *lasts, *prometheus)
		}
	default:
		err = fmt.Errorf("%q is no role of this program", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// bench is one that goes on.
type bench struct {
	n      int
	env    app.Env
	d      *desk.Desk
	task   fleet.BrokerTask
	argv   []string
	b      *desk.Child
	agents *process
}

func run(n int, idle, lasts time.Duration, prometheus bool) error {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sites := &reach.Sites{}
	defer sites.Close()
	x := &bench{n: n, env: app.Env{Build: "bench", Now: time.Now, Sites: sites, Getenv: func(k string) string {
		return map[string]string{"XDG_STATE_HOME": dir, "USER": "bench"}[k]
	}}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := x.start(ctx, dir); err != nil {
		return err
	}
	defer func() { _ = x.b.Close() }() // it may have been killed
	kit.Head(os.Stdout, "what", "time", "controller and desk: CPU s", "RSS MB", "broker: CPU s", "RSS MB", "all agents: CPU s", "bytes a host")
	creds, err := x.enrol(ctx)
	if err != nil {
		return err
	}
	steps := []struct {
		what string
		do   func(context.Context) error
	}{
		{fmt.Sprintf("%d agents connect", n), func(ctx context.Context) error {
			var err error
			if x.agents, err = startAgents(creds); err != nil {
				return err
			}
			return x.allHere(ctx)
		}},
		{fmt.Sprintf("%v in which nobody asks", idle), func(context.Context) error { time.Sleep(idle); return nil }},
		{"check --site all", x.check},
		{"check --site all, again", x.check},
		{"the broker is killed and started: all are back", x.restart},
	}
	for _, s := range steps {
		if err := x.measure(s.what, func() error { return s.do(ctx) }); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	if lasts > 0 {
		if err := x.live(ctx, lasts); err != nil {
			return fmt.Errorf("live samples: %w", err)
		}
	}
	if err := x.agents.end(); err != nil || !prometheus {
		return err
	}
	return x.beside(ctx, max(lasts, beat))
}

// start makes the site.
func (x *bench) start(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	x.argv = []string{self, brokerRole}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := ln.Addr().(*net.TCPAddr)
	if err := ln.Close(); err != nil {
		return err
	}
	root, err := reach.SitesDir(os.Geteuid(), x.env.Getenv)
	if err != nil {
		return err
	}
	if x.d, err = desk.Open(filepath.Join(root, "bench"), "bench", []string{"nats://" + at.String()}, time.Now); err != nil {
		return err
	}
	if x.task, err = x.d.Task("127.0.0.1", at.Port); err != nil {
		return err
	}
	if x.b, err = desk.StartBroker(ctx, x.argv, x.task); err != nil {
		return err
	}
	if _, err := x.d.Attach(x, func(err error) { fmt.Fprintln(os.Stderr, err) }); err != nil {
		return err
	}
	go func() {
		if err := x.d.Serve(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return nil
}

// Account implements desk.Brokers: the broker is another one after its restart.
func (x *bench) Account(jwt string) error { return x.b.Account(jwt) }

// enrol enrols all hosts, 32 at a time, each with a token of its own.
func (x *bench) enrol(ctx context.Context) ([]fleet.Credential, error) {
	creds := make([]fleet.Credential, x.n)
	err := x.measure(fmt.Sprintf("%d hosts enrol", x.n), func() error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(32)
		for i := range creds {
			group.Go(func() (err error) {
				creds[i], err = x.enrolOne(ctx, fmt.Sprintf("n%04d", i))
				return err
			})
		}
		return group.Wait()
	})
	return creds, err
}

func (x *bench) enrolOne(ctx context.Context, name string) (fleet.Credential, error) {
	text, _, err := x.d.MakeToken(name, nil, time.Hour, 1)
	if err != nil {
		return fleet.Credential{}, err
	}
	token, err := fleet.ParseToken(text)
	if err != nil {
		return token, err
	}
	k, err := fleet.NewKeys()
	if err != nil {
		return token, err
	}
	return fleet.Enrol(ctx, token, k, fleet.Entry{Name: name, Boot: "bench", Build: "bench"}, time.Now())
}

// allHere waits until the desk has heard all hosts since now.
func (x *bench) allHere(ctx context.Context) error {
	from := time.Now()
	for ctx.Err() == nil {
		heard := 0
		for _, h := range x.d.Hosts() {
			if h.Here && h.Heard.After(from) {
				heard++
			}
		}
		if heard == x.n {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ctx.Err()
}

func (x *bench) check(ctx context.Context) error {
	c, err := check.Run(ctx, x.env, check.Options{Site: "all"}, silent{})
	if err != nil {
		return err
	}
	if len(c.Lost) > 0 || len(c.Hosts) != x.n {
		return fmt.Errorf("%d hosts, and could not look at: %+v", len(c.Hosts), c.Lost)
	}
	return nil
}

// restart kills the broker, starts it anew, and waits until the desk has heard all hosts again. An
// agent that comes back says so at once; one that never noticed would within fleet.LiveTime.
func (x *bench) restart(ctx context.Context) error {
	p, err := os.FindProcess(x.b.PID())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		return err
	}
	<-x.b.Ended()
	if x.b, err = desk.StartBroker(ctx, x.argv, x.task); err != nil {
		return err
	}
	return x.allHere(ctx)
}

// silent is a progress that nobody watches.
type silent struct{}

func (silent) Say(string, ...any)  {}
func (silent) Detail(string)       {}
func (silent) Tick(string, string) {}
func (silent) Live() bool          { return false }
func (silent) End()                {}
func (silent) Started() time.Time  { return time.Time{} }

// agents runs an agent for each credential of in, one a line, until in ends.
func agents(in io.Reader) error {
	answers, err := recorded()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	lines := json.NewDecoder(in)
	all := &beats{list: map[chan beaten]bool{}}
	group.Go(func() error { return all.run(ctx) })
	for {
		var c fleet.Credential
		err := lines.Decode(&c)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			cancel()
			return errors.Join(err, group.Wait())
		}
		g, err := c.Granted()
		if err != nil {
			cancel()
			return errors.Join(err, group.Wait())
		}
		one := simulated{answers, g.Name, all}
		group.Go(func() error { return fleet.Run(ctx, c, one.host()) })
	}
	cancel()
	return group.Wait()
}
