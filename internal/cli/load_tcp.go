package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/load"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

// tcpFlags is the command line of load tcp.
type tcpFlags struct {
	loadExtras
	streams         int
	seconds, warmup time.Duration
	rate, pace      unit.BitRate
	congestion, via string
	write           string
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
		Short: "Move bytes from memory to memory over TCP, and report the CPU of both ends",
		Long: `tcp moves bytes from the memory of one host to that of another as fast as the path
allows, or at a rate, and counts what arrives. It reaches both hosts as explain does:
it runs a program on each while the load lasts, and leaves nothing behind. Without
hosts, or with localhost twice, it loads this host's loopback.

Several hosts on one side send to, or receive from, the single host on the other. With
equal numbers on both sides, the first is paired with the first, and so on. All begin
once all are connected. --streams, --rate and --pacing apply to each pair and direction.

It binds the data address and one port of the kernel's choice, and accepts only a peer
that knows the run's token. It does not watch for other traffic on the link: on a
network in use, give it a --rate.`,
		Example: `  linerate load tcp
  linerate load tcp client1 nas1 --streams 4 --seconds 10
  linerate load tcp client1 nas1 --via 10.0.0.2 --both --rate 5Gbit
  linerate load tcp client1,client2,client3 nas1 --streams 2
  linerate load tcp client1 nas1 --interval 1s --require 'rate>9Gbit'
  linerate load tcp localhost localhost --congestion cubic --json`,
		Args: usage(noneOrTwo),
		RunE: func(cmd *cobra.Command, args []string) error { return runTCP(cmd.Context(), env, f, args) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.streams, "streams", 1, "connections in each direction")
	timeFlag(cmd, &f.seconds, "for", "how long to measure; default 10s (--seconds N is the same in seconds)")
	flags.Var(secondsFlag{&f.seconds}, "seconds", "how long to measure, in seconds")
	timeFlag(cmd, &f.warmup, "warmup", "how long to run before that, not counted")
	rateFlag(cmd, &f.rate, "rate", "rate at which the sending program produces data, over all streams; default: as fast as possible")
	rateFlag(cmd, &f.pace, "pacing", "limit at which the kernel sends each stream (SO_MAX_PACING_RATE)")
	flags.StringVar(&f.congestion, "congestion", "", "congestion control of the streams; default: the host's")
	flags.StringVar(&f.write, "write", "", "size of a write, default 1 MiB, the most; search tries sizes from 16 KiB on first")
	flags.BoolVar(&f.zeroCopy, "zerocopy", false, "send without a copy (MSG_ZEROCOPY), as far as the kernel and the card do")
	flags.BoolVar(&f.sendFile, "sendfile", false, "send a file from the page cache (sendfile), without a copy even on loopback")
	flags.StringVar(&f.sendCPUs, "sender-cpus", cpusAuto, "CPUs that send, as 0-3,8; auto: those near the card where it has some; any: all")
	flags.StringVar(&f.recvCPUs, "receiver-cpus", cpusAuto, "likewise of the receiving end")
	flags.BoolVar(&f.discard, "discard", false, "drop the arriving data in the kernel, which no real receiver does")
	flags.BoolVar(&f.reverse, "reverse", false, "from the second host to the first")
	flags.BoolVar(&f.both, "both", false, "in both directions at once")
	f.loadExtras.flags(cmd, true)
	flags.StringVar(&f.via, "via", "", "data address of the receiver")
	return completeFlags(cmd, map[string][]string{"congestion": {"cubic", "bbr", "reno"}}, "streams", "seconds", "via")
}

func noneOrTwo(_ *cobra.Command, args []string) error {
	if len(args) != 0 && len(args) != 2 {
		return fmt.Errorf("name senders and receivers, or none for this host's loopback: got %s", unit.Count(len(args), "word"))
	}
	return nil
}

// check says which flags cannot be had.
func (f tcpFlags) check() error {
	switch d := cmp.Or(f.seconds, tcpTime); {
	case f.zeroCopy && f.sendFile:
		return failure.Of(failure.Usage, "--zerocopy --sendfile: two ways to send without a copy: choose one")
	case f.reverse && f.both:
		return failure.Of(failure.Usage, "--reverse --both: both directions at once have no reverse")
	case f.streams < 1 || f.streams > load.MaxTCPStreams:
		return failure.Of(failure.Usage, "--streams %d: want 1 to %d", f.streams, load.MaxTCPStreams)
	case d < time.Second || d > maxTCPTime:
		return failure.Of(failure.Usage, "--for %v: want 1s to %v", d, maxTCPTime)
	}
	return nil
}

// How long a load is measured, and how long it may be: samples of the whole run have to
// fit into memory.
const (
	tcpTime    = 10 * time.Second
	maxTCPTime = time.Hour
)

// Words for CPUs and sizes of writes.
const (
	cpusAuto    = "auto"
	cpusAny     = "any"
	writeSearch = "search"
)

// options turns the flags into what is wanted.
func (f tcpFlags) options(args []string) (o load.TCPOptions, err error) {
	o = load.TCPOptions{Via: f.via, Reverse: f.reverse, Both: f.both, Search: f.write == writeSearch,
		Workload: model.Workload{Streams: f.streams, Duration: cmp.Or(f.seconds, tcpTime) + f.warmup, Warmup: f.warmup, CC: f.congestion,
			SourceUse: model.SourceUse{Rate: f.rate, MaxPacing: f.pace, ZeroCopy: f.zeroCopy, SendFile: f.sendFile},
			SinkUse:   model.SinkUse{Discard: f.discard}}}
	if f.write != "" && !o.Search {
		if o.WriteSize, err = positive(load.ParseSize)(f.write); err != nil || o.WriteSize > unit.MiB {
			return o, failure.Of(failure.Usage, "--write %s: want a size up to 1 MiB, or search", f.write)
		}
	}
	if err := f.check(); err != nil {
		return o, err
	}
	for i, want := range []string{f.sendCPUs, f.recvCPUs} {
		if o.CPUs[i], err = parseCPUs(want); err != nil {
			return o, failure.As(failure.Usage, err)
		}
	}
	o.TCPHosts, err = load.ParseTCPHosts(args[0], args[1])
	var twice *load.TwiceError
	switch {
	case errors.As(err, &twice):
		return o, failure.Of(failure.Usage, "%w; use --streams for more connections", twice)
	case err != nil || f.via == "":
		return o, err
	}
	first := o.Pairs[0]
	if slices.ContainsFunc(o.Pairs, func(p load.TCPPair) bool { return p.Names[1] != first.Names[1] }) {
		return o, failure.Of(failure.Usage, "--via %s is the data address of one receiver, and there are several", f.via)
	}
	if _, err := netip.ParseAddr(f.via); err != nil && first.Itself() {
		return o, failure.Of(failure.Usage, "--via %q: want an address of this host", f.via)
	}
	return o, nil
}

// maxCPU bounds the numbers of CPUs, as the kernel's largest configurations do.
const maxCPU = 8192

// parseCPUs reads auto, any, or a list as 0-3,8 (cpuset(7), "list format").
func parseCPUs(s string) (out load.CPUs, err error) {
	if s == cpusAuto || s == cpusAny {
		return load.CPUs{Near: s == cpusAuto}, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, aerr := strconv.Atoi(first)
		b, berr := strconv.Atoi(last)
		if aerr != nil || berr != nil || a < 0 || b < a || b >= maxCPU {
			return out, fmt.Errorf("CPUs %q: want a list as 0-3,8, auto or any", s)
		}
		for c := a; c <= b; c++ {
			if !slices.Contains(out.List, c) {
				out.List = append(out.List, c)
			}
		}
	}
	return out, nil
}

func runTCP(ctx context.Context, env *environment, f tcpFlags, args []string) error {
	if len(args) == 0 {
		args = []string{reach.Here, reach.Here}
	}
	o, err := f.options(args)
	if err != nil {
		return err
	}
	if err := f.loadExtras.read(true); err != nil {
		return err
	}
	return makeLoadWith(env, "load tcp "+strings.Join(args, " "), f.loadExtras, func(p app.Progress) (*load.Made, error) { return load.TCP(ctx, env.Env, o, p) })
}
