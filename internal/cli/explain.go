package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/load"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

type explainOptions struct {
	attach   string
	watch    time.Duration
	lineRate string
	load     bool   // two hosts: traffic is allowed
	via      string // two hosts: data address of the receiver
	file     string // two hosts: file of the export to read
	write    string // directory on the mount to write a file in
	streams  int
	cc       string
}

// maxWatch keeps the promise of a verdict within 30 s.
const maxWatch = 25 * time.Second

func explainCommand(env *environment) *cobra.Command {
	var o explainOptions
	cmd := &cobra.Command{
		Use:   "explain [MOUNT | SENDER RECEIVER]",
		Short: "Watch a slow mount or connection while data moves, and name what limits it",
		Long: `explain only watches: it puts no load on anything and changes nothing. It needs
no root and no login on the server. Start copying a file, then run it: it reads
this end's TCP connections to the server, the mount's RPC statistics, NICs and
cores for some seconds, and prints one verdict, its evidence, and the ladder
with the rungs it could not see and the step that would reveal each.

What to watch is a path on an NFS or SMB mount, an iSCSI disk or a path on one,
an address and port, or a process: of that the TCP connections that it and its
descendants hold, and those to the storage that its open files lie on. With
several peers the one that moves most data is judged and the others are named.

Where nothing moves, --load lets it read by itself: the largest file below the
path, the file, or the disk that you name; and, where that leaves open whether
more under way would help, the same in four places at once. It writes nothing,
unless --write names a directory: then it writes one new file there, flushes it,
and removes it.

With two hosts it logs in to both (ssh, or the lab) and, if you allow it with
--load, climbs the ladder: memory, loopback, one TCP stream, several both ways,
and with HOST:/export the server's disk and the whole path over the client's
mount. Before each rung it says what it loads and what the model predicts; a
rung stops when others use more than 10% of the link. It changes nothing on
either host, and writes no file but the one that --write allows. With HOST:/export it first watches the mount: a
transfer that runs is judged without any load.

From one end some causes look alike. Then it says which, and what would tell
them apart, instead of guessing.`,
		Example: `  linerate explain /mnt/nas                       while you copy a file from or to it
  linerate explain /mnt/nas/film.mov --load        read it yourself
  linerate explain /mnt/nas --load --write /mnt/nas/scratch
                                                   write a file there instead
  linerate explain /dev/sdb                        an iSCSI disk, or a mount on one
  linerate explain --attach nas1:2049              any TCP connections to there
  linerate explain --attach 4711                   the connections of a process
  linerate explain --attach $(pgrep -n rsync)      those of the newest rsync
  linerate explain --attach 192.0.2.7:5201 --line-rate 10Gbit
  linerate explain client1 root@nas1 --load --via 10.0.0.2 --line-rate 10Gbit
  linerate explain client1 nas1:/export --load     reads the export's largest file
  linerate explain client1 nas1:/export --load --file images/big.iso
  linerate explain client1 nas1:/export --load --write /mnt/nas/scratch
  linerate explain lab:client1 lab:server1 --load`,
		Args: usage(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error { return runExplain(cmd.Context(), env, o, args) },
	}
	cmd.Flags().StringVar(&o.attach, "attach", "", "watch this machine's TCP connections to HOST:PORT, or those of the process PID, instead of a mount")
	cmd.Flags().DurationVar(&o.watch, "for", 12*time.Second, "how long to watch once data moves (at most 25s)")
	cmd.Flags().StringVar(&o.lineRate, "line-rate", "", "what the link can carry, e.g. 10Gbit; needed where the NIC is virtual or the slowest link is elsewhere")
	cmd.Flags().BoolVar(&o.load, "load", false, "allow load: of two hosts the ladder's, without asking; of a mount, a file on it or a disk, reading it where nothing moves")
	cmd.Flags().StringVar(&o.file, "file", "", "two hosts, with an export: the file below it to read; empty takes the largest")
	cmd.Flags().StringVar(&o.write, "write", "", "with --load: also write a new file in this directory of the mount, at most 4 GiB and a tenth of what is free, and remove it")
	cmd.Flags().StringVar(&o.via, "via", "", "two hosts: the receiver's data address, where its name leads elsewhere (a management port)")
	cmd.Flags().IntVar(&o.streams, "streams", 1, "two hosts: TCP connections at once")
	cmd.Flags().StringVar(&o.cc, "cc", "", "two hosts: congestion control to ask for; empty leaves the sender's default")
	return cmd
}

func runExplain(ctx context.Context, env *environment, o explainOptions, args []string) error {
	rate, err := o.check(args)
	if err != nil {
		return err
	}
	if len(args) == 2 {
		return explainPair(ctx, env, o, args, rate)
	}
	p := newProgress(env)
	defer p.End()
	target, err := explainTarget(ctx, env, o, args)
	if err != nil {
		return err
	}
	agent, err := dialWatched(ctx, env, p, target)
	if err != nil {
		return err
	}
	defer func() { _ = agent.Close() }()
	if o.load {
		p.Say("watching %s for a transfer; where nothing moves %s, and nothing is changed", target, o.ownLoad())
	} else {
		p.Say("watching %s for %s: adding no load, changing nothing", target, o.watch)
	}
	w := loop.Watch{
		Agent: agent, Target: target.Target, LineRate: rate, For: o.watch, Patience: maxWatch,
		Now: env.Now, Progress: func(s string) { p.Say("%s", s) },
	}
	switch {
	case o.write != "":
		w.Write, err = writeBelow(ctx, o.write, target)
	case o.load:
		w.Read, err = readOf(args[0])
	}
	if err != nil {
		return err
	}
	rec, err := w.Run(ctx)
	var idle *loop.IdleError
	if errors.As(err, &idle) {
		return failure.As(failure.Nothing, err)
	}
	if err != nil {
		return err
	}
	rec.Results.Command, rec.Results.Build = "explain", env.Build
	return conclude(env, rec)
}

// ownLoad is what one host does where nothing moves.
func (o explainOptions) ownLoad() string {
	if o.write != "" {
		return "a file is written below " + o.write + " and removed"
	}
	return fmt.Sprintf("it is read for %s", o.watch)
}

// check validates what was typed and reads the line rate.
func (o explainOptions) check(args []string) (model.Fact[unit.BitRate], error) {
	none := model.Unknown[unit.BitRate](model.Absent, "not stated; --line-rate states it")
	switch {
	case len(args) == 0 && o.attach == "":
		return none, failure.Of(failure.Usage, "explain what? name a mount, or use --attach HOST:PORT or --attach PID; see linerate explain --help")
	case len(args) > 0 && o.attach != "":
		return none, failure.Of(failure.Usage, "explain either a mount, two hosts or --attach, not more than one of them")
	case o.attach != "" && o.load:
		return none, failure.Of(failure.Usage, "--load reads a mount, a file or a disk: name that instead of --attach %s", o.attach)
	case o.write != "" && (o.attach != "" || len(args) == 1 && !o.load):
		return none, failure.Of(failure.Usage, "--write %s: name the mount and allow the load: linerate explain MOUNT --load --write %s", o.write, o.write)
	case o.streams < 1 || o.streams > load.MaxStreams:
		return none, failure.Of(failure.Usage, "--streams %d: choose between 1 and %d", o.streams, load.MaxStreams)
	case o.watch < time.Second || o.watch > maxWatch:
		return none, failure.Of(failure.Usage, "--for %s: choose between 1s and %s", o.watch, maxWatch)
	case o.lineRate == "":
		return none, nil
	}
	rate, err := unit.ParseBitRate(o.lineRate)
	if err != nil {
		return none, failure.Of(failure.Usage, "--line-rate: %w", err)
	}
	if rate == 0 {
		return none, failure.Of(failure.Usage, "--line-rate: a link carries more than nothing")
	}
	return model.Known(rate), nil
}
