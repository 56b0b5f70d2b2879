package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

// streamFlags are what explain and fix take of the TCP between two hosts.
type streamFlags struct {
	lineRate string
	via      string // data address of the receiver
	file     string // of the export, to read
	streams  int
	cc       string
}

type explainOptions struct {
	streamFlags
	attach string
	watch  time.Duration
	wait   *time.Duration // for data to move; nil: not said
	load   bool           // traffic is allowed
	write  string         // directory on the mount to write a file in
	typed  string         // all of the command
}

// How long explain waits for data to move: what it does unless told, and the most.
const (
	usualWait = 13 * time.Second
	mostWait  = time.Hour
)

func explainCommand(env *environment) *cobra.Command {
	var o explainOptions
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "explain [MOUNT | SENDER RECEIVER]",
		Short: "Watch a slow mount or connection while data moves, and name what limits it",
		Long: `explain only watches: it puts no load on anything and changes nothing. It needs
no root and no login on the server. Start copying a file, then run explain: for
some seconds it reads this end's TCP connections to the server, the mount's RPC
statistics, NICs and cores. It prints one verdict, its evidence, and the ladder;
for each rung that it could not see it names the step that would measure it.
If no data moves yet it waits for 13 s, or as long as --wait says, and judges as
soon as they do; if none come it says so and ends with exit code 3.

It watches a path on an NFS or SMB mount, an iSCSI disk or a path on one, an
address and port, or a process. Of a process it watches the TCP connections of
the process and its descendants, and those to the storage of their open files.
With several peers it judges the one that moves most data and names the others.

If no data moves, --load lets explain read by itself: the largest file below the
path, the file, or the disk that you name (at once, unless --wait is given). If it then cannot tell whether more
requests in flight would help, it also reads at four offsets at once. It writes
nothing, unless --write names a directory: then it writes one new file there,
flushes it, and removes it.

With two hosts it logs in to both (ssh, or the lab) and, if you allow it with
--load, climbs the ladder: memory, loopback, one TCP stream, several both ways,
and with HOST:/export the server's disk and the whole path over the client's
mount. Before each rung it says what it loads and what the model predicts; a
rung stops when other traffic uses more than 10% of the link. explain changes
no setting on either host, and writes no file but the one that --write allows.
With HOST:/export it first watches the mount: if a transfer is running, it judges
that one without any load.

On Windows it watches an address and port, or a process, as an administrator: it
switches on the TCP statistics of these connections, and off again at the end; if it
was killed, the next one, or linerate tune undo, does. On macOS it watches these too,
of a process without its descendants, and says how little macOS shows.

From one end some causes look alike. Then explain says which, and what would
distinguish them, instead of guessing.`,
		Example: `  linerate explain /mnt/nas                       while you copy a file from or to it
  linerate explain /mnt/nas/film.mov --load        read it yourself
  linerate explain /mnt/nas --load --write /mnt/nas/scratch
                                                   write a file there instead
  linerate explain /dev/sdb                        an iSCSI disk, or a mount on one
  linerate explain --attach nas1:2049              any TCP connections to there
  linerate explain /mnt/nas --wait 10m             start the copy within ten minutes
  linerate explain --attach 4711                   the connections of a process
  linerate explain --attach $(pgrep -n rsync)      those of the newest rsync
  linerate explain --attach 192.0.2.7:5201 --line-rate 10Gbit
  linerate explain client1 root@nas1 --load --via 10.0.0.2 --line-rate 10Gbit
  linerate explain client1 nas1:/export --load     reads the export's largest file
  linerate explain client1 nas1:/export --load --file images/big.iso
  linerate explain client1 nas1:/export --load --write /mnt/nas/scratch
  linerate explain lab:client1 lab:server1 --load`,
		Args: usage(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.typed = asTyped(cmd, args)
			if cmd.Flags().Changed("wait") {
				o.wait = &wait
			}
			return runExplain(cmd.Context(), env, o, args)
		},
	}
	cmd.Flags().StringVar(&o.attach, "attach", "", "watch this machine's TCP connections to HOST:PORT, or those of the process PID, instead of a mount")
	durationVar(cmd.Flags(), &o.watch, "for", 12*time.Second, "how long to watch once data moves (at most 25s)")
	durationVar(cmd.Flags(), &wait, "wait", usualWait, "how long to wait for data to move (at most 1h); 0 looks for a second; with --load, how long before it reads by itself (default there 0)")
	cmd.Flags().StringVar(&o.lineRate, "line-rate", "", "what the link can carry, e.g. 10Gbit; needed where the NIC is virtual or the slowest link is elsewhere")
	cmd.Flags().BoolVar(&o.load, "load", false, "allow load: with two hosts, climb the ladder without asking; with a mount, a file on it or a disk, read it if no data moves")
	cmd.Flags().StringVar(&o.file, "file", "", "two hosts, with an export: the file below it to read; empty takes the largest")
	cmd.Flags().StringVar(&o.write, "write", "", "with --load: also write a new file in this directory of the mount, at most 4 GiB and a tenth of the free space, and remove it")
	cmd.Flags().StringVar(&o.via, "via", "", "two hosts: the receiver's data address, if its name resolves to another one (a management port)")
	cmd.Flags().IntVar(&o.streams, "streams", 1, "two hosts: TCP connections at once")
	cmd.Flags().StringVar(&o.cc, "cc", "", "two hosts: congestion control to ask for; empty leaves the sender's default")
	return cmd
}

func runExplain(ctx context.Context, env *environment, o explainOptions, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	stream, err := o.stream()
	if err != nil {
		return err
	}
	if len(args) == 2 {
		return explainPair(ctx, env, o, args, stream)
	}
	w := explain.WatchOptions{For: o.watch, Wait: o.waits(), LineRate: stream.LineRate, Load: o.load, Write: o.write}
	if o.attach == "" {
		w.Path = args[0]
	} else if err := attachTo(&w, o.attach); err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	rec, err := explain.Watch(ctx, env.Env, w, p)
	var unresolved *explain.UnresolvedError
	var elsewhere *explain.ElsewhereError
	switch {
	case errors.As(err, &unresolved):
		return fmt.Errorf("--attach %s: %w; give its address instead", o.attach, err)
	case errors.As(err, &elsewhere):
		return failure.Of(failure.Usage, "--write %s: it does not lie on %s; nothing was written", elsewhere.Dir, elsewhere.Watched)
	case err != nil:
		return err
	}
	return conclude(env, o.typed, rec)
}

// attachTo reads --attach: the number of a process, or HOST:PORT.
func attachTo(w *explain.WatchOptions, s string) error {
	if pid, err := strconv.ParseUint(s, 10, 31); err == nil && pid > 0 {
		w.PID = int(pid)
		return nil
	}
	name, service, err := net.SplitHostPort(s)
	port, perr := strconv.ParseUint(service, 10, 16)
	if err != nil || perr != nil || name == "" || port == 0 {
		return failure.Of(failure.Usage, "--attach %q: want HOST:PORT, e.g. nas1:2049, or the number of a process", s)
	}
	w.Name, w.Peer, w.Port = s, name, uint16(port)
	return nil
}

// explainPair explains what limits the path between two hosts.
func explainPair(ctx context.Context, env *environment, o explainOptions, args []string, stream app.Stream) error {
	pair, err := pairOf(args, o.file, o.write)
	if err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	rec, err := explain.Climb(ctx, env.Env, pair, explain.ClimbOptions{
		Stream: stream, For: o.watch, Write: o.write,
		Allow: func(load string) error { return o.mayLoad(env, "explain runs "+load) },
	}, p)
	if err != nil {
		return err
	}
	return conclude(env, o.typed, rec)
}

// mayLoad asks before anything is loaded, unless --load allows it.
func (o explainOptions) mayLoad(env *environment, what string) error {
	switch {
	case o.load:
		return nil
	case !asksHere(env):
		return failure.Of(failure.Usage, "%s: allow it with --load", what)
	case !saysYes(env, what+". Go on?"):
		return failure.Of(failure.Nothing, "nothing was loaded")
	}
	return nil
}

// waits is how long to wait for data to move: with leave to load nobody has to.
func (o explainOptions) waits() time.Duration {
	switch {
	case o.wait != nil:
		return *o.wait
	case o.load:
		return 0
	}
	return usualWait
}

// check validates what was typed.
func (o explainOptions) check(args []string) error {
	switch {
	case len(args) == 0 && o.attach == "":
		return failure.Of(failure.Usage, "explain what? name a mount, or use --attach HOST:PORT or --attach PID; see linerate explain --help")
	case len(args) > 0 && o.attach != "":
		return failure.Of(failure.Usage, "explain either a mount, two hosts or --attach, not more than one of them")
	case o.attach != "" && o.load:
		return failure.Of(failure.Usage, "--load reads a mount, a file or a disk: name that instead of --attach %s", o.attach)
	case o.write != "" && (o.attach != "" || len(args) == 1 && !o.load):
		return failure.Of(failure.Usage, "--write %s: name the mount and allow the load: linerate explain MOUNT --load --write %s", o.write, o.write)
	case o.watch < time.Second || o.watch > explain.MaxWatch:
		return failure.Of(failure.Usage, "--for %s: choose between 1s and %s", o.watch, explain.MaxWatch)
	case o.wait != nil && len(args) == 2:
		return failure.Of(failure.Usage, "--wait %s: it is for a mount, a disk or --attach; between two hosts explain does not wait for data", *o.wait)
	case o.wait != nil && (*o.wait < 0 || *o.wait > mostWait):
		return failure.Of(failure.Usage, "--wait %s: choose between 0 and %s", *o.wait, mostWait)
	}
	return nil
}

// stream reads the flags.
func (o streamFlags) stream() (app.Stream, error) {
	s := app.Stream{LineRate: reach.NotStated(), Via: o.via, File: o.file, Streams: o.streams, CC: o.cc}
	if o.streams < 1 || o.streams > app.MaxStreams {
		return s, failure.Of(failure.Usage, "--streams %d: choose between 1 and %d", o.streams, app.MaxStreams)
	}
	if o.lineRate == "" {
		return s, nil
	}
	rate, err := unit.ParseBitRate(o.lineRate)
	if err != nil {
		return s, failure.Of(failure.Usage, "--line-rate: %w", err)
	}
	if rate == 0 {
		return s, failure.Of(failure.Usage, "--line-rate: a link carries more than nothing")
	}
	s.LineRate = model.Known(rate)
	return s, nil
}

// pairOf reads the names of two hosts. A path belongs to the second, the server.
func pairOf(args []string, file, write string) (app.Pair, error) {
	pair, err := app.ParsePair(args[0], args[1])
	if err != nil {
		return pair, failure.As(failure.Usage, err)
	}
	client, server := pair.Names[0], pair.Names[1]
	export := server.Path
	server.Path = ""
	switch {
	case client.Path != "":
		err = failure.Of(failure.Usage, "explain %s %s: the client has no path; name two hosts (client1, user@nas1, lab:client1, localhost), the second with its export where that is to be read: nas1:/export", args[0], args[1])
	case client == server:
		err = failure.Of(failure.Usage, "explain %s %s: name two different hosts", args[0], args[1])
	case export != "" && !path.IsAbs(export):
		err = failure.Of(failure.Usage, "explain %s: the export is an absolute path on the server, e.g. nas1:/export", args[1])
	case write != "" && (export == "" || !path.IsAbs(write)):
		err = failure.Of(failure.Usage, "--write %s: name the export, %s:/export, and an absolute path on %s's mount of it", write, args[1], args[0])
	case file != "" && export == "":
		err = failure.Of(failure.Usage, "--file %s: name the export that it lies in: %s:/export", file, args[1])
	case file != "" && !filepath.IsLocal(file):
		err = failure.Of(failure.Usage, "--file %q: want a path below the export, e.g. images/big.iso", file)
	}
	return pair, err
}
