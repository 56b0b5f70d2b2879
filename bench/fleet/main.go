// Command fleet measures a site of many hosts: real agents' code, the real desk and a real broker
// with TLS and rights, over this machine's loopback. The hosts are simulated: what each answers is
// this machine's facts, read once, so that their own work is no part of the figures. The agents (of 4,000 hosts at most),
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
	every := flag.Duration("every", time.Second, "the time between two samples of a host")
	prometheus := flag.Bool("prometheus", false, "have Prometheus scrape as many hosts for as long, in the same run")
	serve := flag.Duration("serve", 0, "for how long linerate serve shows all hosts, with its history; 0: not")
	moving := flag.Int("moving", 0, "how many of the hosts move data to the host beside them")
	faults := flag.Uint64("faults", 0, "seed of faults: samples that are late, that a host drops, and connections that break; 0: none")
	brokers := flag.Int("brokers", 1, "how many brokers, as a cluster")
	same := flag.Int("same", 0, "compare so many hosts over ssh and as a site over three brokers instead; 0: do not")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case natsRole:
		err = natsServer()
	case brokerRole:
		err = broker.Main(context.Background(), os.Stdin, os.Stdout)
	case agentsRole:
		err = agents(os.Stdin, os.Stdout)
	case "":
		if *same > 0 {
			err = compare(context.Background(), *same)
		} else {
			err = run(options{*brokers, *idle, *lasts, *serve, *prometheus, task{0, *n, *faults, *moving, *every}})
		}
	default:
		err = fmt.Errorf("%q is no role of this program", flag.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// options is what is wanted of a bench.
type options struct {
	brokers            int
	idle, lasts, serve time.Duration
	prometheus         bool
	task
}

// agentsEach is how many agents a process has: each is a connection, and files are limited.
const agentsEach = 4000

// task is what a process of agents is told first.
type task struct {
	First  int // of its hosts
	N      int // of all hosts
	Faults uint64
	Moving int
	Beat   time.Duration // between two samples of a host
}

// bench is one that goes on.
type bench struct {
	options
	env     app.Env
	d       *desk.Desk
	tasks   []fleet.BrokerTask
	argv    []string
	brokers []*desk.Child
	killed  int
	agents  []*process
	served  context.CancelFunc // ends linerate serve

	came, gaps int64 // samples
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	sites := &reach.Sites{}
	defer sites.Close()
	x := &bench{options: o, env: app.Env{Build: "bench", Now: time.Now, Sites: sites, Getenv: func(k string) string {
		return map[string]string{"XDG_STATE_HOME": dir, "XDG_DATA_HOME": dir, "USER": "bench"}[k]
	}}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := x.start(ctx, dir); err != nil {
		return err
	}
	defer func() {
		for _, b := range x.brokers {
			_ = b.Close() // it may have been killed
		}
	}()
	kit.Head(os.Stdout, "what", "time", "controller and desk: CPU s", "RSS MB", "brokers: CPU s", "RSS MB", "all agents: CPU s", "bytes a host")
	creds, err := x.enrol(ctx)
	if err != nil {
		return err
	}
	for _, s := range x.steps(creds) {
		if err := x.measure(s.what, func() error { return s.do(ctx) }); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	if x.lasts > 0 {
		if err := x.live(ctx, x.lasts); err != nil {
			return fmt.Errorf("live samples: %w", err)
		}
	}
	var all total
	for _, p := range x.agents {
		t, err := p.end()
		if err != nil {
			return err
		}
		all.Sent, all.Dropped = all.Sent+t.Sent, all.Dropped+t.Dropped
	}
	x.unsaid(all)
	if !x.prometheus {
		return nil
	}
	return x.beside(ctx, max(x.lasts, x.Beat))
}

// step is one that is measured.
type step struct {
	what string
	do   func(context.Context) error
}

func (x *bench) steps(creds []fleet.Credential) []step {
	all := []step{
		{fmt.Sprintf("%d agents connect", x.N), func(ctx context.Context) error {
			for first := 0; first < x.N; first += agentsEach {
				t := x.task
				t.First = first
				p, err := startAgents(creds[first:min(x.N, first+agentsEach)], t)
				if err != nil {
					return err
				}
				x.agents = append(x.agents, p)
			}
			return x.allHere(ctx)
		}},
		{fmt.Sprintf("%v in which nobody asks", x.idle), func(context.Context) error { time.Sleep(x.idle); return nil }},
		{"check --site all", x.check},
		{"check --site all, again", x.check},
		{"a broker is killed and started: all are back", x.restart},
	}
	if x.serve > 0 {
		all = append(all, step{fmt.Sprintf("serve begins to show %d hosts", x.N), x.beginServing},
			step{fmt.Sprintf("serve shows %d hosts, %d of which move data, for %v", x.N, x.Moving, x.serve), x.serving})
	}
	return all
}

// start makes the site.
func (x *bench) start(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	x.argv = []string{self, brokerRole}
	var servers, routes []string
	var ports [][2]int
	for range x.options.brokers {
		a, err := freePort()
		if err != nil {
			return err
		}
		b, err := freePort()
		if err != nil {
			return err
		}
		servers, routes, ports = append(servers, fmt.Sprintf("nats://127.0.0.1:%d", a)), append(routes, fmt.Sprintf("nats://127.0.0.1:%d", b)), append(ports, [2]int{a, b})
	}
	root, err := reach.SitesDir(os.Geteuid(), x.env.Getenv)
	if err != nil {
		return err
	}
	if x.d, err = desk.Open(filepath.Join(root, "bench"), "bench", servers, time.Now); err != nil {
		return err
	}
	for _, p := range ports {
		t, err := x.d.Task("127.0.0.1", p[0])
		if err != nil {
			return err
		}
		if len(ports) > 1 {
			t.Cluster, t.Routes = fmt.Sprintf("127.0.0.1:%d", p[1]), routes
		}
		b, err := desk.StartBroker(ctx, x.argv, t)
		if err != nil {
			return err
		}
		x.tasks, x.brokers = append(x.tasks, t), append(x.brokers, b)
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

// freePort is a port of the loopback that nobody has.
func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return ln.Addr().(*net.TCPAddr).Port, ln.Close()
}

// Account implements desk.Brokers: one is another after its restart.
func (x *bench) Account(jwt string) error {
	for _, b := range x.brokers {
		if err := b.Account(jwt); err != nil {
			return err
		}
	}
	return nil
}

// enrol enrols all hosts, 32 at a time, each with a token of its own.
func (x *bench) enrol(ctx context.Context) ([]fleet.Credential, error) {
	creds := make([]fleet.Credential, x.N)
	err := x.measure(fmt.Sprintf("%d hosts enrol", x.N), func() error {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(32)
		for i := range creds {
			group.Go(func() (err error) {
				creds[i], err = x.enrolOne(ctx, hostName(i))
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
		if heard == x.N {
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
	if len(c.Lost) > 0 || len(c.Hosts) != x.N {
		return fmt.Errorf("%d hosts, and could not look at: %+v", len(c.Hosts), c.Lost)
	}
	return nil
}

// restart kills a broker, starts it anew, and waits until the desk has heard all hosts again. An
// agent that comes back says so at once; one that never noticed would within fleet.LiveTime.
func (x *bench) restart(ctx context.Context) error {
	p, err := os.FindProcess(x.brokers[0].PID())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		return err
	}
	<-x.brokers[0].Ended()
	x.killed++
	if x.brokers[0], err = desk.StartBroker(ctx, x.argv, x.tasks[0]); err != nil {
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

// agents runs an agent for each credential of in, one a line after their task, until in ends, and
// tells what they have sent.
func agents(in io.Reader, out io.Writer) error {
	answers, err := recorded()
	if err != nil {
		return err
	}
	lines := json.NewDecoder(in)
	var t task
	if err := lines.Decode(&t); err != nil {
		return err
	}
	all := &beats{hosts: t.N, beat: t.Beat, seed: t.Faults, list: map[chan beaten]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return all.run(ctx) })
	for i := t.First; ; i++ {
		var c fleet.Credential
		if err = lines.Decode(&c); err != nil {
			break
		}
		one := simulated{answers, i, i < t.Moving, all}
		group.Go(func() error { return fleet.Run(ctx, c, one.host(), one.breaks()...) })
	}
	cancel()
	if werr := group.Wait(); !errors.Is(err, io.EOF) || werr != nil {
		return errors.Join(err, werr)
	}
	return json.NewEncoder(out).Encode(total{all.sent.Load(), all.dropped.Load()})
}
