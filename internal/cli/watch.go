package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/app/watch"
	"linerate/internal/failure"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

type watchOptions struct {
	attach   string
	lineRate string
	window   time.Duration
	once     bool
	replay   string
	speed    float64
}

func watchCommand(env *environment) *cobra.Command {
	var o watchOptions
	var s siteOptions
	cmd := &cobra.Command{
		Use:   "watch [MOUNT… | HOST HOST…]",
		Short: "Show live what a path carries, its share of the ceiling, and what limits it",
		Long: `watch runs explain continuously. It puts no load on anything and changes nothing.
For mounts, disks, an address or a process it shows the verdict of explain as it is
now; for two or more hosts, the connections between them, seen from all ends. Without
an argument it watches every NFS and SMB mount of this host, eight at most.

Once a second it makes a new verdict from the last ten seconds. A new state replaces
the shown one after it came three times in a row. A path whose application asks for
no more is shown as not slow. Other states are "cannot tell", idle, stale (no sample
for three seconds) and lost (watch tries again and again).

On a terminal watch draws the picture in place until q: the arrows scroll, Enter opens a
path, Esc goes back, p holds the picture, ? shows all keys. Elsewhere it prints one line
per change of state. --json prints each picture of each path as one object per line.
--replay shows a recorded run by the same rules.`,
		Example: `  linerate watch
  linerate watch /mnt/nas /mnt/pool
  linerate watch --attach nas1:2049
  linerate watch client1 nas1
  linerate watch lab:client1 lab:server1 --line-rate 1Gbit
  linerate watch --site                            all hosts of a site
  linerate watch --site role=dtn
  linerate watch /mnt/nas --once                   one picture, when there is a verdict
  linerate watch /mnt/nas --json | jq .shown
  linerate watch --replay last --speed 4`,
		Args: usage(cobra.MaximumNArgs(watch.MaxHosts)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("speed") && o.replay == "" {
				return failure.Of(failure.Usage, "--speed %g: it is for --replay; the present has its own pace", o.speed)
			}
			s.site, args = selected(s.site, args)
			if err := s.check(args); err != nil {
				return err
			}
			if s.site != "" {
				if o.attach != "" || o.replay != "" {
					return failure.Of(failure.Usage, "watch either --site, --attach or --replay, not more than one of them")
				}
				var err error
				if args, err = watch.SiteHosts(cmd.Context(), env.Env, s.of, s.site, nil); err != nil {
					return err
				}
			}
			return runWatch(cmd.Context(), env, o, args)
		},
	}
	s.flags(cmd.Flags())
	alone(cmd.Flags())
	cmd.Flags().StringVar(&o.attach, "attach", "", "watch this machine's TCP connections to HOST:PORT, or those of the process PID, instead of a mount")
	cmd.Flags().StringVar(&o.lineRate, "line-rate", "", "what the link can carry, e.g. 10Gbit; needed where the NIC is virtual or the slowest link is elsewhere")
	durationVar(cmd.Flags(), &o.window, "window", 10*time.Second, "how many of the last seconds a verdict uses (5s to 1m)")
	cmd.Flags().BoolVar(&o.once, "once", false, "print one picture as soon as there is a verdict, or nothing moves, and end; exit code 1 if a path is stale or lost")
	cmd.Flags().StringVar(&o.replay, "replay", "", "show a recorded run (linerate runs) instead of the present")
	cmd.Flags().Float64Var(&o.speed, "speed", 1, "with --replay: how many times faster than it was; 0 does not wait")
	return cmd
}

// errSeen ends a view that has shown what was asked for.
var errSeen = errors.New("seen")

func runWatch(ctx context.Context, env *environment, o watchOptions, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	w, err := o.live(ctx, env, args, p)
	if err != nil {
		return err
	}
	seen, quit := context.WithCancel(ctx)
	v := newView(env, o.once, o.replay == "")
	v.quit, v.done = quit, seen.Done()
	defer func() { _ = v.end() }() // after a panic, too
	if o.replay != "" {
		err = watch.Replay(seen, env.Env, watch.ReplayOptions{Ref: o.replay, LineRate: w.LineRate, Window: o.window, Speed: o.speed, Show: v.show})
		switch {
		case err == nil && v.screen != nil:
			v.screen.stay()
		case err == nil && v.once && len(v.waiting) > 0:
			err = v.print(v.waiting, nil)
		}
	} else {
		w.Show = v.show
		e := env.Env
		e.Crashed = v.crashed
		err = watch.Live(seen, e, w, p)
	}
	wanted := errors.Is(err, errSeen) || seen.Err() != nil // q is how a view ends
	failed := v.end()
	switch {
	case ctx.Err() != nil: // and so is Ctrl-C; the terminal may be gone
		return nil
	case wanted:
		return failed
	}
	return cmp.Or(err, failed)
}

// live is what to watch, but for a recorded run.
func (o watchOptions) live(ctx context.Context, env *environment, args []string, p app.Progress) (watch.Options, error) {
	stream, err := streamFlags{lineRate: o.lineRate, streams: 1}.stream()
	w := watch.Options{LineRate: stream.LineRate, Window: o.window}
	switch {
	case err != nil, o.replay != "":
	case o.attach != "":
		w.Here = make([]explain.WatchOptions, 1)
		err = attachTo(&w.Here[0], o.attach)
	case len(args) == 0:
		w.Here, err = watch.Mounts(ctx, env.Env, p)
	case len(args) == 1 || paths(args) == len(args):
		for _, a := range args {
			w.Here = append(w.Here, explain.WatchOptions{Path: a})
		}
	default:
		w.Hosts = args
	}
	return w, err
}

// paths counts the arguments that are written as paths, which no host's name is.
func paths(args []string) int {
	n := 0
	for _, a := range args {
		if strings.HasPrefix(a, "/") || strings.HasPrefix(a, ".") {
			n++
		}
	}
	return n
}

func (o watchOptions) check(args []string) error {
	what := len(args)
	for _, s := range []string{o.attach, o.replay} {
		if s != "" {
			what++
		}
	}
	switch {
	case (o.attach != "" || o.replay != "") && what > 1:
		return failure.Of(failure.Usage, "watch either a mount, hosts, --attach or --replay, not more than one of them")
	case o.window < watch.LeastWindow || o.window > watch.MostWindow:
		return failure.Of(failure.Usage, "--window %s: choose between %s and %s", o.window, watch.LeastWindow, watch.MostWindow)
	case !(o.speed >= 0 && o.speed <= 1000): // no number is neither
		return failure.Of(failure.Usage, "--speed %g: choose between 0 and 1000", o.speed)
	case paths(args) > 0 && paths(args) < len(args):
		return failure.Of(failure.Usage, "watch %s: name either mounts of this host, or hosts", strings.Join(args, " "))
	case paths(args) > watch.MaxMounts:
		return failure.Of(failure.Usage, "watch %s: %d at once are the most", unit.Count(len(args), "mount"), watch.MaxMounts)
	case len(args) == 1 && strings.HasPrefix(args[0], "site:"):
		return failure.Of(failure.Usage, "watch %s: what is watched are the connections between hosts: name the other end too, or --site for all of a site", args[0])
	case len(args) == 1 && strings.HasPrefix(args[0], "lab:"):
		return failure.Of(failure.Usage, "watch %s: what is watched are the connections between hosts: name the other end too", args[0])
	case len(args) == 1 && args[0] == reach.Here:
		return failure.Of(failure.Usage, "watch localhost: name the other end too, a mount, or --attach HOST:PORT")
	}
	return nil
}
