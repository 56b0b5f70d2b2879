package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/serve"
	"linerate/internal/app/watch"
)

func serveCommand(env *environment) *cobra.Command {
	var o watchOptions
	var listen string
	cmd := &cobra.Command{
		Use:   "serve [MOUNT | HOST HOST…]",
		Short: "Serve linerate watch as a page, and to Prometheus, on this machine's loopback",
		Long: `serve watches as linerate watch does, and shows it as a page that is live: paths with
their share of the ceiling and what holds them back, connections, cores, interfaces,
requests, and what changed. /metrics has the same for Prometheus, /pictures as JSON.

It listens on the loopback alone and answers only who asks for it by that name. It
changes nothing, and offers nothing that would. From another machine:
  ssh -L 8470:127.0.0.1:8470 HOST     and open http://127.0.0.1:8470/`,
		Example: `  linerate serve /mnt/nas
  linerate serve client1 nas1 --line-rate 10Gbit
  linerate serve --attach nas1:2049 --listen 127.0.0.1:9000`,
		Args: usage(cobra.MaximumNArgs(watch.MaxHosts)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServe(cmd.Context(), env, o, listen, args)
		},
	}
	cmd.Flags().StringVar(&o.attach, "attach", "", "watch this machine's TCP connections to HOST:PORT, or those of the process PID, instead of a mount")
	cmd.Flags().StringVar(&o.lineRate, "line-rate", "", "what the link can carry, e.g. 10Gbit; needed where the NIC is virtual or the slowest link is elsewhere")
	cmd.Flags().DurationVar(&o.window, "window", 10*time.Second, "how far a verdict looks back (5s to 1m)")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8470", "address and port of the loopback")
	return cmd
}

func runServe(ctx context.Context, env *environment, o watchOptions, listen string, args []string) error {
	if err := o.check(args); err != nil {
		return err
	}
	w, err := o.live(args)
	if err != nil {
		return err
	}
	title := strings.Join(args, ", ")
	if o.attach != "" {
		title = o.attach
	}
	p := newProgress(env)
	defer p.End()
	err = serve.Serve(ctx, env.Env, serve.Options{Watch: w, Listen: listen, Title: title, Serving: func(url string) {
		p.Say("%s is served at %s until Ctrl-C", title, url)
	}}, p)
	if ctx.Err() != nil { // Ctrl-C is how it ends
		return nil
	}
	return err
}
