package cli

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/load/tcp"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

// tcpFlags is the command line of load tcp.
type tcpFlags struct {
	streams         int
	seconds, warmup time.Duration
	rate, pace      unit.BitRate
	congestion, via string
	write           string
	writeSize       unit.Bytes // of write; 0: the most
	sendCPUs        string
	recvCPUs        string
	zeroCopy        bool
	sendFile        bool
	discard         bool
	reverse, both   bool
}

func loadTCPCommand(env *environment) *cobra.Command {
	f := tcpFlags{warmup: time.Second}
	cmd := &cobra.Command{
		Use:   "tcp [SENDER[,SENDER…] RECEIVER[,RECEIVER…]]",
		Short: "Move bytes from memory to memory over TCP, and say what both ends took for it",
		Long: `tcp moves bytes from the memory of one host to that of another as fast as they
go, or at a rate, and counts what arrives. Both hosts are reached as by explain: a
program runs on each for as long as the load does, and leaves nothing. Without hosts,
and with localhost twice, it is this host's loopback.

Several hosts on one side send to, or receive from, the one on the other; as many on
both sides are pairs, the first with the first. All begin once all are connected.
--streams, --rate and --pacing are of each pair and direction.

It binds the data address and one port of the kernel's choice, and lets in only who
knows the run's token. It takes no notice of what else the link carries: on a network
in use, give it a --rate.`,
		Example: `  linerate load tcp
  linerate load tcp client1 nas1 --streams 4 --seconds 10
  linerate load tcp client1 nas1 --via 10.0.0.2 --both --rate 5Gbit
  linerate load tcp client1,client2,client3 nas1 --streams 2
  linerate load tcp localhost localhost --congestion cubic --json`,
		Args: usage(noneOrTwo),
		RunE: func(cmd *cobra.Command, args []string) error { return runTCP(cmd.Context(), env, f, args) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.streams, "streams", 1, "connections in each direction")
	timeFlag(cmd, &f.seconds, "for", "how long to measure; default 10s (--seconds N is the same in seconds)")
	flags.Var(secondsFlag{&f.seconds}, "seconds", "how long to measure, in seconds")
	timeFlag(cmd, &f.warmup, "warmup", "how long to run before that, not counted")
	loadRateFlag(cmd, &f.rate, "rate", "what the sending program produces, over all streams, as an application with so much to send; default: as fast as it goes")
	loadRateFlag(cmd, &f.pace, "pacing", "what the kernel sends at most on each stream (SO_MAX_PACING_RATE)")
	flags.StringVar(&f.congestion, "congestion", "", "congestion control of the streams; default: the host's")
	flags.StringVar(&f.write, "write", "", "size of a write, default 1 MiB, the most; search tries sizes from 16 KiB on first")
	flags.BoolVar(&f.zeroCopy, "zerocopy", false, "send without a copy (MSG_ZEROCOPY), as far as the kernel and the card do")
	flags.BoolVar(&f.sendFile, "sendfile", false, "send a file from the page cache (sendfile), which copies nothing, on loopback neither")
	flags.StringVar(&f.sendCPUs, "sender-cpus", cpusAuto, "CPUs that send, as 0-3,8; auto: those near the card where it has some; any: all")
	flags.StringVar(&f.recvCPUs, "receiver-cpus", cpusAuto, "likewise of the receiving end")
	flags.BoolVar(&f.discard, "discard", false, "drop what arrives in the kernel, which no real receiver does")
	flags.BoolVar(&f.reverse, "reverse", false, "from the second host to the first")
	flags.BoolVar(&f.both, "both", false, "in both directions at once")
	flags.StringVar(&f.via, "via", "", "data address of the receiver")
	return completeFlags(cmd, map[string][]string{"congestion": {"cubic", "bbr", "reno"}}, "streams", "seconds", "via")
}

func noneOrTwo(_ *cobra.Command, args []string) error {
	if len(args) != 0 && len(args) != 2 {
		return fmt.Errorf("name senders and receivers, or none for this host's loopback: got %d words", len(args))
	}
	return nil
}

// workload is what one direction does; the ends are left out.
func (f tcpFlags) workload() (model.Workload, error) {
	w := model.Workload{Streams: f.streams, Duration: f.seconds, Warmup: f.warmup, CC: f.congestion, Rate: f.rate,
		MaxPacing: f.pace, WriteSize: f.writeSize, Discard: f.discard, ZeroCopy: f.zeroCopy, SendFile: f.sendFile}
	if w.Duration == 0 {
		w.Duration = 10 * time.Second
	}
	switch {
	case f.zeroCopy && f.sendFile:
		return w, failure.Of(failure.Usage, "--zerocopy --sendfile: two ways to send without a copy: choose one")
	case f.reverse && f.both:
		return w, failure.Of(failure.Usage, "--reverse --both: both directions at once have no reverse")
	case w.Streams < 1 || w.Streams > maxTCPStreams:
		return w, failure.Of(failure.Usage, "--streams %d: want 1 to %d", w.Streams, maxTCPStreams)
	case w.Duration < time.Second || w.Duration > maxTCPTime:
		return w, failure.Of(failure.Usage, "--for %v: want 1s to %v", w.Duration, maxTCPTime)
	}
	w.Duration += w.Warmup
	return w, nil
}

// Bounds of a run: both directions fit into what an agent starts, and samples of
// the whole run into memory.
const (
	maxTCPStreams = 128
	maxTCPPairs   = 16
	maxTCPTime    = time.Hour
)

func runTCP(ctx context.Context, env *environment, f tcpFlags, args []string) error {
	if err := f.setWrite(); err != nil {
		return err
	}
	w, err := f.workload()
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{reach.Here, reach.Here}
	}
	pairs, err := tcpPairs(args)
	if err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	ends, done, err := dialTCP(ctx, env, f, pairs, p)
	defer done()
	if err != nil {
		return err
	}
	directions := f.directions(ends)
	for _, d := range directions {
		p.Say("data path: %s (%s) → %s (%s), %s for %v", d.names[0], d.addrs[0], d.names[1], d.addrs[1], plural(f.streams, "stream"), w.Duration)
	}
	directions, err = placeTCP(ctx, f, directions)
	if err != nil {
		return err
	}
	var tries []writeTry
	if f.write == writeSearch {
		if w.WriteSize, tries, err = searchWrite(ctx, env, p, w, directions); err != nil {
			return tcpEnd(ctx, err)
		}
	}
	runs, err := moveTCP(ctx, env, p, w, directions)
	p.End()
	if err != nil {
		return tcpEnd(ctx, err)
	}
	out := summariseTCP(runs, directions, f)
	out.searched(tries)
	return concludeTCP(ctx, env, p, args, directions, runs, out)
}

// tcpEnd is the end of a load that has no figures.
func tcpEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failure.Of(failure.Interrupted, "interrupted; a run that was cut short has no figures, and nothing was changed")
	}
	return err
}

// concludeTCP keeps and prints the load.
func concludeTCP(ctx context.Context, env *environment, p *progress, args []string, directions []tcpEnds, runs []model.Run, r tcpResult) error {
	text, err := tcpText(r)
	if err != nil {
		return err
	}
	course := model.LoadSeries{Name: "payload received", Unit: "bit/s", Each: 1, Values: []float64{}}
	for _, s := range r.PerSecond {
		course.Values = append(course.Values, float64(s.Bytes)*8)
	}
	rec := loadRecord{kind: "tcp", command: "load tcp " + strings.Join(args, " "), text: text, value: &r, series: []model.LoadSeries{course}, runs: runs,
		line: fmt.Sprintf("TCP %s: %v in %s of %s", strings.Join(args, " to "), unit.BitRate(r.Load.Goodput), plural(len(directions), "direction"), plural(r.Spec.Streams, "stream"))}
	for _, d := range directions {
		for i, a := range d.agents {
			if !slices.Contains(rec.agents, a) {
				rec.agents, rec.hosts = append(rec.agents, a), append(rec.hosts, d.names[i])
			}
		}
	}
	return concludeLoad(ctx, env, p, rec)
}

// tcpResult is what load tcp --json prints.
type tcpResult struct {
	Load       tcpLoad       `json:"load"`
	Spec       tcpSpec       `json:"spec"`
	Directions []tcp.Figures `json:"directions"`
	// PerSecond is payload of all directions.
	PerSecond []tcpSecond `json:"per_second"`
	Hosts     []loadHost  `json:"hosts"`
	Report    string      `json:"report,omitempty"`

	machines [][2]string // of each direction's ends
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
	From       netip.Addr    `json:"from"` // of the first direction; Directions have all
	To         netip.Addr    `json:"to"`
	Both       bool          `json:"both,omitempty"`
	ZeroCopy   bool          `json:"zero_copy,omitempty"`
	SendFile   bool          `json:"send_file,omitempty"`
	// Placed are the CPUs of each direction's ends, where they are not all.
	Placed []tcpPlace `json:"placed,omitempty"`
	Tried  []writeTry `json:"write_tries,omitempty"`
}

func summariseTCP(runs []model.Run, directions []tcpEnds, f tcpFlags) tcpResult {
	w := runs[0].Workload
	r := tcpResult{Load: tcpLoad{Workload: "tcp", Warnings: []model.Warning{}}, PerSecond: []tcpSecond{}, Hosts: []loadHost{},
		Spec: tcpSpec{f.streams, w.Duration - w.Warmup, w.Warmup, f.rate, f.pace, f.congestion, w.WriteSize, f.discard, w.From, w.To, f.both, f.zeroCopy, f.sendFile, nil, nil}}
	for _, n := range tcpHosts(directions) {
		r.Hosts = append(r.Hosts, loadHost{Name: n})
	}
	for i, run := range runs {
		d := tcp.Summarise(run)
		r.machines = append(r.machines, directions[i].machines())
		r.place(directions[i])
		r.Directions = append(r.Directions, d)
		r.Load.Goodput += d.Goodput
		r.zeroCopy(d)
		limited, evidence := d.GeneratorLimited()
		r.Load.GeneratorLimited = r.Load.GeneratorLimited || limited
		r.Load.Evidence = append(r.Load.Evidence, evidence...)
		r.Load.Warnings = append(r.Load.Warnings, run.Warnings...)
	}
	if f.sendFile {
		r.Load.Evidence = append(r.Load.Evidence, "what was sent is a file in the page cache (sendfile): a program that writes what it has made takes a copy more")
	}
	if len(runs) > 1 {
		r.Load.Evidence = append(r.Load.Evidence, "several directions run at once: a machine's time is that of all of them, and stands beside the bytes of each")
	}
	r.Load.BytesPerS = r.Load.Goodput / 8
	r.perSecond()
	r.cpu()
	return r
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

// cpu adds up what each end's threads took, and the interrupts of each machine
// once: every direction that it has a part in sees the same ones.
func (r *tcpResult) cpu() {
	threads, softirq, knownThreads, knownIRQ := 0.0, 0.0, r.Load.Goodput > 0, r.Load.Goodput > 0
	counted := map[string]bool{}
	for i, d := range r.Directions {
		if d.Goodput <= 0 {
			continue // nothing stands beside bytes that did not come
		}
		part := d.Goodput / r.Load.Goodput
		for k, e := range []tcp.End{d.Sender, d.Receiver} {
			if knownThreads = knownThreads && e.Threads != nil; knownThreads {
				threads += part * *e.Threads
			}
			knownIRQ = knownIRQ && e.SoftIRQ != nil
			if machine := r.machines[i][k]; knownIRQ && !counted[machine] {
				softirq += part * *e.SoftIRQ
				counted[machine] = true
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

func tcpText(r tcpResult) (string, error) {
	var b strings.Builder
	for _, d := range r.Directions {
		fmt.Fprintf(&b, "%s → %s: %v received over %v\n", d.From, d.To, unit.BitRate(d.Goodput), d.Window.Round(time.Millisecond))
	}
	if len(r.Directions) > 1 {
		fmt.Fprintf(&b, "together: %v\n", unit.BitRate(r.Load.Goodput))
	}
	if err := tcpTables(&b, r); err != nil {
		return "", err
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
	return b.String(), nil
}
