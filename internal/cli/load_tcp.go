package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/host"
	"linerate/internal/load/tcp"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// tcpFlags is the command line of load tcp.
type tcpFlags struct {
	streams         int
	seconds, warmup time.Duration
	rate, pace      unit.BitRate
	congestion, via string
	write           unit.Bytes
	discard         bool
	reverse, both   bool
}

func loadTCPCommand(env *environment) *cobra.Command {
	f := tcpFlags{warmup: time.Second}
	cmd := &cobra.Command{
		Use:   "tcp [SENDER RECEIVER]",
		Short: "Move bytes from memory to memory over TCP, and say what both ends took for it",
		Long: `tcp moves bytes from the memory of one host to that of another as fast as they
go, or at a rate, and counts what arrives. Both hosts are reached as by explain: a
program runs on each for as long as the load does, and leaves nothing. Without hosts,
and with localhost twice, it is this host's loopback.

It binds the data address and one port of the kernel's choice, and lets in only who
knows the run's token. It takes no notice of what else the link carries: on a network
in use, give it a --rate.`,
		Example: `  linerate load tcp
  linerate load tcp client1 nas1 --streams 4 --seconds 10
  linerate load tcp client1 nas1 --via 10.0.0.2 --both --rate 5Gbit
  linerate load tcp localhost localhost --congestion cubic --json`,
		Args: usage(noneOrTwo),
		RunE: func(cmd *cobra.Command, args []string) error { return runTCP(cmd.Context(), env, f, args) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.streams, "streams", 1, "connections in each direction")
	timeFlag(cmd, &f.seconds, "for", "how long to measure; default 10s (--seconds N is the same in seconds)")
	flags.Var(secondsFlag{&f.seconds}, "seconds", "how long to measure, in seconds")
	timeFlag(cmd, &f.warmup, "warmup", "how long to run before that, not counted")
	rateFlag(cmd, &f.rate, "rate", "what the sending program produces, over all streams, as an application with so much to send; default: as fast as it goes")
	rateFlag(cmd, &f.pace, "pacing", "what the kernel sends at most on each stream (SO_MAX_PACING_RATE)")
	flags.StringVar(&f.congestion, "congestion", "", "congestion control of the streams; default: the host's")
	blockFlag(cmd, &f.write, "write", "size of a write; default 1 MiB, the most")
	flags.BoolVar(&f.discard, "discard", false, "drop what arrives in the kernel, which no real receiver does")
	flags.BoolVar(&f.reverse, "reverse", false, "from the second host to the first")
	flags.BoolVar(&f.both, "both", false, "in both directions at once")
	flags.StringVar(&f.via, "via", "", "data address of the receiver")
	return completeFlags(cmd, map[string][]string{"congestion": {"cubic", "bbr", "reno"}}, "streams", "seconds", "via")
}

func noneOrTwo(_ *cobra.Command, args []string) error {
	if len(args) != 0 && len(args) != 2 {
		return fmt.Errorf("name two hosts, or none for this host's loopback: got %d", len(args))
	}
	return nil
}

// workload is what one direction does; the ends are left out.
func (f tcpFlags) workload() (model.Workload, error) {
	w := model.Workload{Streams: f.streams, Duration: f.seconds, Warmup: f.warmup, CC: f.congestion, Rate: f.rate,
		MaxPacing: f.pace, WriteSize: f.write, Discard: f.discard}
	if w.Duration == 0 {
		w.Duration = 10 * time.Second
	}
	switch {
	case f.reverse && f.both:
		return w, exit(ExitUsage, "--reverse --both: both directions at once have no reverse")
	case w.Streams < 1 || w.Streams > maxTCPStreams:
		return w, exit(ExitUsage, "--streams %d: want 1 to %d", w.Streams, maxTCPStreams)
	case w.WriteSize > unit.MiB:
		return w, exit(ExitUsage, "--write %v: want at most 1 MiB", w.WriteSize)
	case w.Duration < time.Second || w.Duration > maxTCPTime:
		return w, exit(ExitUsage, "--for %v: want 1s to %v", w.Duration, maxTCPTime)
	}
	w.Duration += w.Warmup
	return w, nil
}

// Bounds of a run: both directions fit into what an agent starts, and samples of
// the whole run into memory.
const (
	maxTCPStreams = 128
	maxTCPTime    = time.Hour
)

// tcpEnds are the two hosts of a load, with their data addresses.
type tcpEnds struct {
	names  [2]string
	addrs  [2]netip.Addr
	agents [2]*host.Client
}

func (e tcpEnds) swapped() tcpEnds {
	return tcpEnds{[2]string{e.names[1], e.names[0]}, [2]netip.Addr{e.addrs[1], e.addrs[0]}, [2]*host.Client{e.agents[1], e.agents[0]}}
}

func runTCP(ctx context.Context, env *environment, f tcpFlags, args []string) error {
	w, err := f.workload()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{thisHost, thisHost}
	}
	names, err := tcpNames(args)
	if err != nil {
		return err
	}
	p := newProgress(env)
	defer p.end()
	ends, done, err := dialTCP(ctx, env, f, names, args, p)
	defer done()
	if err != nil {
		return err
	}
	directions := []tcpEnds{ends}
	switch {
	case f.reverse:
		directions[0] = ends.swapped()
	case f.both:
		directions = append(directions, ends.swapped())
	}
	p.say("data path: %s (%s) → %s (%s), %s for %v", directions[0].names[0], directions[0].addrs[0], directions[0].names[1], directions[0].addrs[1], plural(f.streams, "stream"), w.Duration)
	runs, err := moveTCP(ctx, env, p, w, directions)
	p.end()
	if err != nil {
		if ctx.Err() != nil {
			return exit(ExitInterrupted, "interrupted; a run that was cut short has no figures, and nothing was changed")
		}
		return err
	}
	return printTCP(env, summariseTCP(runs, ends, f))
}

func tcpNames(args []string) ([]host.Name, error) {
	var out []host.Name
	for _, a := range args {
		if a == "local" {
			a = thisHost
		}
		n, err := host.ParseName(a)
		switch {
		case err != nil:
			return nil, exit(ExitUsage, "%w", err)
		case n.Path != "" || n.Reach == host.Local:
			return nil, exit(ExitUsage, "%s: name a host, without a path", a)
		}
		out = append(out, n)
	}
	return out, nil
}

// dialTCP reaches both hosts, one agent where they are the same, and finds the
// data path between them. done ends the agents.
func dialTCP(ctx context.Context, env *environment, f tcpFlags, names []host.Name, args []string, p *progress) (e tcpEnds, done func(), err error) {
	same := names[0] == names[1]
	if same {
		names = names[:1]
	}
	agents, err := dialAll(ctx, env, names, p)
	done = func() {
		for _, a := range agents {
			_ = a.Close() // the figures are in hand; an agent that hangs is killed
		}
	}
	if err != nil {
		return e, done, err
	}
	if same {
		to := netip.AddrFrom4([4]byte{127, 0, 0, 1})
		if f.via != "" {
			if to, err = netip.ParseAddr(f.via); err != nil {
				return e, done, exit(ExitUsage, "--via %q: want an address of this host", f.via)
			}
		}
		name := names[0].String()
		return tcpEnds{[2]string{name + " sending", name + " receiving"}, [2]netip.Addr{to, to}, [2]*host.Client{agents[0], agents[0]}}, done, nil
	}
	from, to, err := dataPath(ctx, explainOptions{via: f.via}, names, agents)
	return tcpEnds{[2]string{args[0], args[1]}, [2]netip.Addr{from, to}, [2]*host.Client{agents[0], agents[1]}}, done, err
}

// moveTCP makes the runs of all directions at once.
func moveTCP(ctx context.Context, env *environment, p *progress, w model.Workload, directions []tcpEnds) ([]model.Run, error) {
	runs, errs := make([]model.Run, len(directions)), make([]error, len(directions))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	for i, d := range directions {
		w := w
		w.Sender, w.Receiver, w.From, w.To = d.names[0], d.names[1], d.addrs[0], d.addrs[1]
		wg.Go(func() {
			runs[i], errs[i] = measure.Run(ctx, w, measure.Ends{Sender: d.agents[0], Receiver: d.agents[1]}, measure.Options{
				Label: "load", Now: env.now, Each: p.watchTCP(d.names[0], d.names[1], w.Duration)})
			if errs[i] != nil {
				cancel() // one direction alone is another load than what was asked for
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

// tcpResult is what load tcp --json prints.
type tcpResult struct {
	Load       tcpLoad       `json:"load"`
	Spec       tcpSpec       `json:"spec"`
	Directions []tcp.Figures `json:"directions"`
	// PerSecond is payload of all directions.
	PerSecond []tcpSecond `json:"per_second"`
	Hosts     []loadHost  `json:"hosts"`
}

type tcpLoad struct {
	Workload  string  `json:"workload"`
	BytesPerS float64 `json:"bytes_per_s"`
	Goodput   float64 `json:"goodput_bps"`
	// CPU of both ends' threads, and interrupt time of the machines, each machine
	// once; null: not known.
	CPUPerGB         *float64        `json:"cpu_s_per_gb"`
	SoftIRQPerGB     *float64        `json:"softirq_s_per_gb"`
	GeneratorLimited bool            `json:"generator_limited"`
	Evidence         []string        `json:"evidence"`
	Warnings         []model.Warning `json:"warnings"`
}

type tcpSecond struct {
	Bytes int64 `json:"bytes"`
}

type tcpSpec struct {
	Streams    int           `json:"streams"`
	Measured   time.Duration `json:"measured_ns"`
	Warmup     time.Duration `json:"warmup_ns"`
	Rate       unit.BitRate  `json:"rate_bps,omitempty"`
	Pacing     unit.BitRate  `json:"pacing_bps,omitempty"`
	Congestion string        `json:"congestion,omitempty"`
	Write      unit.Bytes    `json:"write_bytes,omitempty"`
	Discard    bool          `json:"discard,omitempty"`
	From       netip.Addr    `json:"from"`
	To         netip.Addr    `json:"to"`
	Both       bool          `json:"both,omitempty"`
}

func summariseTCP(runs []model.Run, e tcpEnds, f tcpFlags) tcpResult {
	w := runs[0].Workload
	r := tcpResult{Load: tcpLoad{Workload: "tcp", Warnings: []model.Warning{}}, PerSecond: []tcpSecond{}, Hosts: []loadHost{},
		Spec: tcpSpec{f.streams, w.Duration - w.Warmup, w.Warmup, f.rate, f.pace, f.congestion, f.write, f.discard, w.From, w.To, f.both}}
	for _, n := range e.names {
		r.Hosts = append(r.Hosts, loadHost{Name: n})
	}
	for _, run := range runs {
		d := tcp.Summarise(run)
		r.Directions = append(r.Directions, d)
		r.Load.Goodput += d.Goodput
		limited, evidence := d.GeneratorLimited()
		r.Load.GeneratorLimited = r.Load.GeneratorLimited || limited
		r.Load.Evidence = append(r.Load.Evidence, evidence...)
		r.Load.Warnings = append(r.Load.Warnings, run.Warnings...)
	}
	if len(runs) > 1 {
		r.Load.Evidence = append(r.Load.Evidence, "both directions run at once: a machine's time is that of both, and stands beside the bytes of each")
	}
	r.Load.BytesPerS = r.Load.Goodput / 8
	r.perSecond()
	r.cpu(sameMachine(e))
	return r
}

// sameMachine tells whether both ends run on one kernel: its interrupts then
// are those of both.
func sameMachine(e tcpEnds) bool {
	a, b := e.agents[0].Hello().BootID, e.agents[1].Hello().BootID
	return a == b && a != ""
}

// perSecond adds the directions up, as far as all of them are known.
func (r *tcpResult) perSecond() {
	n := len(r.Directions[0].PerSecond)
	for _, d := range r.Directions {
		n = min(n, len(d.PerSecond))
	}
	for i := range n {
		var s tcpSecond
		for _, d := range r.Directions {
			s.Bytes += d.PerSecond[i]
		}
		r.PerSecond = append(r.PerSecond, s)
	}
}

// cpu weighs what each direction took by its bytes. On one machine the
// interrupts that both ends see are the same ones, in every direction.
func (r *tcpResult) cpu(same bool) {
	threads, softirq, knownThreads, knownIRQ := 0.0, 0.0, r.Load.Goodput > 0, r.Load.Goodput > 0
	for i, d := range r.Directions {
		part := d.Goodput / r.Load.Goodput
		for k, e := range []tcp.End{d.Sender, d.Receiver} {
			if knownThreads = knownThreads && e.Threads != nil; knownThreads {
				threads += part * *e.Threads
			}
			knownIRQ = knownIRQ && e.SoftIRQ != nil
			if i == 0 && (k == 0 || !same) && knownIRQ {
				softirq += part * *e.SoftIRQ
			}
		}
	}
	if knownThreads {
		r.Load.CPUPerGB = &threads
	}
	if knownIRQ {
		r.Load.SoftIRQPerGB = &softirq
	}
}

func printTCP(env *environment, r tcpResult) error {
	if env.json {
		return printJSON(env, r)
	}
	var b strings.Builder
	for _, d := range r.Directions {
		fmt.Fprintf(&b, "%s → %s: %v received over %v\n", d.From, d.To, unit.BitRate(d.Goodput), d.Window.Round(time.Millisecond))
	}
	if len(r.Directions) > 1 {
		fmt.Fprintf(&b, "together: %v\n", unit.BitRate(r.Load.Goodput))
	}
	if err := tcpTables(&b, r); err != nil {
		return err
	}
	limited := "no"
	if r.Load.GeneratorLimited {
		limited = "perhaps: a thread had no time left, so that these figures may be this program's and not the path's"
	}
	fmt.Fprintf(&b, "\nGenerator limited: %s\n", limited)
	for _, e := range r.Load.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	for _, w := range r.Load.Warnings {
		fmt.Fprintf(&b, "\nWarning: %s", w.What)
		if w.Evidence != "" {
			fmt.Fprintf(&b, " (%s)", w.Evidence)
		}
		fmt.Fprintf(&b, "\n  %s\n", w.Next)
	}
	_, err := fmt.Fprint(env.out, b.String())
	return err
}
