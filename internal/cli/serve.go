package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/explain"
	"linerate/internal/app/serve"
	"linerate/internal/app/watch"
	"linerate/internal/failure"
	"linerate/internal/unit"
)

func serveCommand(env *environment) *cobra.Command {
	var o watchOptions
	var so serveOptions
	cmd := &cobra.Command{
		Use:   "serve [MOUNT… | HOST HOST…]",
		Short: "Serve linerate watch as a page, and to Prometheus",
		Long: `serve watches as linerate watch does, and shows the result as a live page: paths with
their share of the ceiling and their limiter, connections, cores, interfaces, requests,
and what changed. /metrics has the same for Prometheus, /pictures as JSON.

It listens on the loopback and answers only requests that use a name of the loopback. It
changes nothing by itself, and the page can change nothing without --allow-change. From
another machine:
  ssh -L 8470:127.0.0.1:8470 HOST     and open http://127.0.0.1:8470/
With --tls-cert, --tls-key and --token-file it listens on any address, for those who
have the token: open https://HOST:8470/#token=TOKEN once.

With --allow-change the page offers what linerate tune does (settings, plan, apply,
confirm, undo) to those who have the address that serve then prints. If nobody confirms
a change, the host undoes it.

With --nats serve runs a site instead: hosts whose agents call this machine
(docs/fleet.md). The connections are TLS, and only enrolled hosts are admitted. While
that runs, serve --site shows the page of its hosts.

serve keeps what it showed as history (docs/watch.md): the page's timeline, linerate
report, compare, study history and watch --replay read it.`,
		Example: `  linerate serve
  linerate serve /mnt/nas
  linerate serve client1 nas1 --line-rate 10Gbit
  linerate serve --attach nas1:2049 --listen 127.0.0.1:9000
  linerate serve --hosts hosts.yaml --listen 10.0.0.5:8470 --tls-cert cert.pem --tls-key key.pem --token-file token
  linerate serve client1 nas1 --allow-change
  linerate serve --nats embedded --site lab --nats-listen 10.0.0.5:4222
  linerate serve --nats nats://a:4222,b:4222,c:4222 --site lab
  linerate serve --site role=dtn                   the page of a site's hosts`,
		Args: usage(cobra.MaximumNArgs(watch.MaxHosts)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if so.nats != "" {
				if so.site == everyHost && len(args) > 0 { // a flag that may stand alone takes no word after it
					so.site, args = args[0], args[1:]
				}
				return so.runSite(cmd, env, args)
			}
			so.site, args = selected(so.site, args)
			return runServe(cmd.Context(), env, o, so, args)
		},
	}
	cmd.Flags().StringVar(&o.attach, "attach", "", "watch this machine's TCP connections to HOST:PORT, or those of the process PID, instead of a mount")
	cmd.Flags().StringVar(&o.lineRate, "line-rate", "", "what the link can carry, e.g. 10Gbit; needed where the NIC is virtual or the slowest link is elsewhere")
	durationVar(cmd.Flags(), &o.window, "window", 10*time.Second, "how many of the last seconds a verdict uses (5s to 1m)")
	cmd.Flags().StringVar(&so.history, "history", "2GiB", "how much of what was shown is kept on disk, at most; 0 keeps none")
	cmd.Flags().StringVar(&so.listen, "listen", "127.0.0.1:8470", "address and port; others than the loopback's need the next three")
	cmd.Flags().StringVar(&so.cert, "tls-cert", "", "file with the certificate, PEM; the page answers to the names in it")
	cmd.Flags().StringVar(&so.key, "tls-key", "", "file with its key, PEM")
	cmd.Flags().StringVar(&so.token, "token-file", "", "file with the token that a reader needs, 32 letters or more")
	cmd.Flags().BoolVar(&so.change, "allow-change", false, "offer what linerate tune does, to who has the address that is printed; what nobody confirms is undone")
	cmd.Flags().BoolVar(&so.queues, "metrics-per-queue", false, "add to /metrics each transmit queue of an interface, and what each core receives")
	cmd.Flags().StringVar(&so.hosts, "hosts", "", "YAML file that names the hosts to watch (docs/watch.md)")
	cmd.Flags().StringVar(&so.nats, "nats", "", "keep a site of hosts whose agents call out: `embedded` is the broker that linerate brings, nats://a:4222,b:4222,c:4222 are the site's own")
	cmd.Flags().StringVar(&so.site, "site", "", "with --nats: the site's name; else the hosts of a site to watch: all, names (nas1,nas2) or labels (role=dtn); docs/fleet.md")
	alone(cmd.Flags())
	cmd.Flags().StringVar(&so.of, "of", "", "with --site: the `SITE`, where this machine keeps several")
	cmd.Flags().StringVar(&so.natsListen, "nats-listen", "127.0.0.1:4222", "with --nats: the address and port that hosts call")
	return cmd
}

// serveOptions is what serve has beside watch.
type serveOptions struct {
	listen  string
	history string
	hosts   string
	cert    string
	key     string
	token   string
	change  bool
	queues  bool

	nats, site, natsListen, of string // of a site
}

func runServe(ctx context.Context, env *environment, o watchOptions, so serveOptions, args []string) error {
	var hosts serve.Hosts
	if so.hosts != "" {
		if len(args) > 0 || o.attach != "" {
			return failure.Of(failure.Usage, "name hosts in %s or on the command line, not both", so.hosts)
		}
		var err error
		if hosts, err = serve.ReadHosts(so.hosts); err != nil {
			return err
		}
		args = hosts.Names
	}
	chosen := siteOptions{site: so.site, of: so.of}
	if err := chosen.check(args); err != nil {
		return err
	}
	if so.site != "" {
		if o.attach != "" {
			return failure.Of(failure.Usage, "serve either --site or --attach, not both")
		}
		var err error
		if args, err = watch.SiteHosts(ctx, env.Env, so.of, so.site, nil); err != nil {
			return err
		}
	}
	if err := o.check(args); err != nil {
		return err
	}
	p := newProgress(env)
	defer p.End()
	sv := serve.Options{Listen: so.listen, TLSCert: so.cert, TLSKey: so.key, TokenFile: so.token, AllowChange: so.change, PerQueue: so.queues}
	w, err := o.live(ctx, env, args, p)
	if errors.Is(err, watch.ErrNoMount) { // there may be one later
		sv.Mounts = func(ctx context.Context, p app.Progress) ([]explain.WatchOptions, error) {
			return watch.Mounts(ctx, env.Env, p)
		}
		args, err = []string{"this machine"}, nil
	}
	if err != nil {
		return err
	}
	if o.attach == "" && len(args) == 0 {
		for _, h := range w.Here {
			args = append(args, h.Path)
		}
	}
	if o.lineRate == "" && so.hosts != "" {
		w.LineRate = hosts.LineRate
	}
	keep, err := unit.ParseBytes(so.history)
	if err != nil || keep < 0 || keep > 0 && keep < serve.LeastHistory {
		return failure.Of(failure.Usage, "--history %s: give a size of at least %v, such as 2GiB, or 0 to keep none", so.history, serve.LeastHistory)
	}
	if o.attach != "" {
		args = []string{o.attach}
	}
	sv.Watch, sv.Title, sv.Set, sv.Keep = w, titleOf(args), strings.Join(args, ", "), keep
	if so.site != "" { // its history goes on when another host is enrolled
		sv.Set = watch.SiteSet(so.of, so.site)
	}
	sv.Serving = func(url string) { p.Say("%s is served at %s until Ctrl-C", sv.Title, url) }
	sv.Changing = func(url string) {
		p.Say("who has this address can change hosts, until this ends: %s", url)
	}
	err = serve.Serve(ctx, env.Env, sv, p)
	if ctx.Err() != nil { // Ctrl-C is how it ends
		return nil
	}
	return err
}

// mostNamed is how many hosts the title of a page names.
const mostNamed = 6

func titleOf(args []string) string {
	if len(args) > mostNamed {
		return fmt.Sprintf("%s and %d others", strings.Join(args[:mostNamed-1], ", "), len(args)-mostNamed+1)
	}
	return strings.Join(args, ", ")
}
