package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"linerate/internal/app"
	"linerate/internal/app/site"
	"linerate/internal/failure"
	"linerate/internal/report/document"
)

func agentCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run a site of hosts whose agents call out, or enrol this host in one",
		Long: `agent is for sites with more hosts than ssh can handle. linerate serve --nats embedded
runs a site on one machine. You enrol each host once, with a token; from then on its
agent calls that machine. Every command takes such a host as site:HOST.

On the machine that runs the site: token, list, revoke, log. On a host: enrol, run,
status. docs/fleet.md walks through all of it.`,
		Example: `  linerate serve --nats embedded --site lab --nats-listen 10.0.0.5:4222
  linerate agent token --name nas1 > nas1.token
  linerate agent enrol --token-file nas1.token     on nas1, as root
  linerate agent run                               on nas1; or: systemctl enable --now linerate-agent
  linerate agent list
  linerate check site:nas1`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(agentToken(env), agentEnrol(env), agentRun(env), agentStatus(env), agentList(env), agentRevoke(env), agentLog(env))
	return cmd
}

// ofSite adds the flag that names a site.
func ofSite(cmd *cobra.Command, name *string) *cobra.Command {
	cmd.Flags().StringVar(name, "of", "", "the `SITE`, where this machine keeps several")
	return cmd
}

func agentToken(env *environment) *cobra.Command {
	var of, name string
	var labels []string
	var within time.Duration
	var hosts int
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Make a token that enrols one host or several, until it expires",
		Long: `token prints a token: one line, which enrols one host, or with --hosts up to that many.
It is a secret until it is used up or has expired: hand it on as you would a password.
The host is called NAME, or what it calls itself, and has the labels; both are fixed
here, where the site is kept. linerate agent list shows how many hosts each token has
admitted. Revoking one of them ends the token.`,
		Example: `  linerate agent token --name nas1 > nas1.token
  linerate agent token --label role=dtn --label rack=4 --for 24h
  linerate agent token --hosts 40 --label rack=4 > rack4.token
  linerate agent token --name nas1 | ssh root@nas1 linerate agent enrol`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			has, err := labelsOf(labels)
			if err != nil {
				return err
			}
			switch {
			case hosts < 1 || hosts > site.MaxTokenHosts:
				return failure.Of(failure.Usage, "--hosts %d: want 1 to %d", hosts, site.MaxTokenHosts)
			case hosts > 1 && name != "":
				return failure.Of(failure.Usage, "--name %s and --hosts %d: only one host has a name; leave --name out, and each is called what it calls itself", name, hosts)
			}
			t, err := site.MakeToken(cmd.Context(), env.Env, of, name, has, within, hosts)
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, t)
			}
			env.err.Printf("for %s of site %s, until %s\n", hostsInWords(t.Hosts), t.Site, t.Expires.Local().Format(time.DateTime))
			return env.out.Printf("%s\n", t.Token)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "what the host is called in the site; else what it calls itself")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "`KEY=VALUE` by which hosts are chosen, such as role=dtn; may be given several times")
	durationVar(cmd.Flags(), &within, "for", time.Hour, "how long the token is good")
	cmd.Flags().IntVar(&hosts, "hosts", 1, "how many hosts the token enrols, at most")
	return ofSite(cmd, &of)
}

func hostsInWords(n int) string {
	if n == 1 {
		return "one host"
	}
	return fmt.Sprintf("up to %d hosts", n)
}

func labelsOf(texts []string) (map[string]string, error) {
	out := map[string]string{}
	for _, t := range texts {
		k, v, ok := strings.Cut(t, "=")
		if !ok || out[k] != "" && out[k] != v {
			return nil, failure.Of(failure.Usage, "--label %q: want KEY=VALUE, each key once", t)
		}
		out[k] = v
	}
	return out, nil
}

func agentEnrol(env *environment) *cobra.Command {
	var file string
	var replace bool
	cmd := &cobra.Command{
		Use:   "enrol",
		Short: "Enrol this host in a site, by a token",
		Long: `enrol generates this host's key, has the token's site certify it, and keeps both where only
you can read them: as root in /var/lib/linerate-agent. If another user enrols the host, the
agent can do what that user may. The token comes from stdin or a file, since every user of
this host could read an argument.`,
		Example: `  linerate agent enrol --token-file nas1.token
  linerate agent enrol < nas1.token`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return failure.Of(failure.Usage, "a token is not taken from the command line, which every user of this host can read: give it by stdin or --token-file, and have a new one made with linerate agent token")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			token, err := readToken(env, file)
			if err != nil {
				return err
			}
			e, err := site.Enrol(cmd.Context(), env.Env, token, replace)
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, e)
			}
			return env.out.Printf("this host is %s of site %s (%s)\nstart its agent with: systemctl enable --now linerate-agent    or: linerate agent run\n", e.Name, e.Site, e.ID)
		},
	}
	cmd.Flags().StringVar(&file, "token-file", "", "`FILE` with the token; else stdin")
	cmd.Flags().BoolVar(&replace, "replace", false, "forget the site that this host is enrolled in")
	return cmd
}

// maxToken bounds what is read as a token, in bytes.
const maxToken = 64 << 10

func readToken(env *environment, file string) (string, error) {
	if file != "" {
		b, err := app.ReadFile(file, maxToken)
		if err != nil {
			return "", failure.Of(failure.Usage, "--token-file: %w", err)
		}
		return string(b), nil
	}
	b, err := io.ReadAll(io.LimitReader(env.in, maxToken))
	if err != nil {
		return "", failure.Of(failure.Usage, "read the token from stdin: %w", err)
	}
	return string(b), nil
}

func agentRun(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Run this host's agent in the foreground, until Ctrl-C",
		Long: `run calls the brokers of the site that this host is enrolled in, and answers its
controllers: the same typed operations as over ssh, no shell, no programs. Changes that
nobody confirms are undone here whether or not the site can be reached.`,
		Example: "  linerate agent run\n  systemctl enable --now linerate-agent",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return site.Run(cmd.Context(), env.Env, "", env.err)
		},
	}
}

func agentStatus(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show which site this host is enrolled in, and whether its agent runs",
		Example: "  linerate agent status",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			s, err := site.Here(env.Env)
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, s)
			}
			runs := "its agent does not run: systemctl start linerate-agent, or linerate agent run"
			if s.Running {
				runs = "its agent runs"
			}
			lines := []string{
				fmt.Sprintf("%s of site %s (%s)%s", s.Name, s.Site, s.ID, labelText(s.Labels)),
				"calls " + strings.Join(s.Servers, ", "), runs,
			}
			if s.Said != "" {
				lines = append(lines, s.SaidAt.Local().Format(time.DateTime)+"  "+s.Said)
			}
			return printDocument(env, saying(lines...))
		},
	}
}

// labelText is the labels of a host after other words.
func labelText(labels map[string]string) string {
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out.WriteString(" " + k + "=" + labels[k])
	}
	return out.String()
}

func agentList(env *environment) *cobra.Command {
	var of string
	return ofSite(&cobra.Command{
		Use:     "list",
		Short:   "List the hosts of a site, and which of them are there",
		Example: "  linerate agent list\n  linerate agent list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := site.Hosts(cmd.Context(), env.Env, of)
			if err != nil {
				return err
			}
			if l.Broken != "" {
				env.err.Printf("linerate: %s\n", l.Broken)
			}
			if env.json {
				return printJSON(env, l)
			}
			return printDocument(env, hostsPage(l, env.Now()))
		},
	}, &of)
}

// hostsPage lists hosts; those that are not there come first.
func hostsPage(l site.List, now time.Time) document.Document {
	if len(l.Hosts) == 0 {
		d := saying(fmt.Sprintf("site %s has no hosts yet; linerate agent token makes a token for one", l.Site))
		d.Lead = append(d.Lead, tokenBlocks(l.Tokens)...)
		return d
	}
	t := document.Table{Head: document.Columns("Host", "State", "Labels", "Enrolled", "Build", "ID")}
	here := 0
	for _, there := range []bool{false, true} {
		for _, h := range l.Hosts {
			if h.Here != there {
				continue
			}
			if there {
				here++
			}
			t.Row(h.Name, hostState(h, now), strings.TrimSpace(labelText(h.Labels)), h.Enrolled.Local().Format(time.DateOnly), h.Build, h.ID)
		}
	}
	lead := []document.Block{{Text: fmt.Sprintf("site %s: %d of %d hosts are there", l.Site, here, len(l.Hosts))}, t.Block()}
	return document.Document{Lead: append(lead, tokenBlocks(l.Tokens)...)}
}

// tokenBlocks list the tokens that can still admit hosts.
func tokenBlocks(open []site.Open) []document.Block {
	if len(open) == 0 {
		return nil
	}
	t := document.Table{Head: document.Columns("Open token", "Hosts admitted", "Host", "Labels", "Expires")}
	for _, x := range open {
		t.Row(x.ID, fmt.Sprintf("%d of %d", x.Admitted, x.Hosts), x.Name, strings.TrimSpace(labelText(x.Labels)), x.Expires.Local().Format(time.DateTime))
	}
	return []document.Block{t.Block()}
}

// hostState words whether a host is there.
func hostState(h site.Host, now time.Time) string {
	ago := now.Sub(h.Heard).Round(time.Second)
	switch {
	case h.Here && len(h.Twins) > 0:
		return fmt.Sprintf("two agents have its identity (%s): it is read, and not changed", strings.Join(h.Twins, "; "))
	case h.Here:
		if h.Ahead.Abs() > 5*time.Second {
			return fmt.Sprintf("there; its clock is off by %s", h.Ahead.Round(time.Second))
		}
		return "there"
	case h.Ended:
		return fmt.Sprintf("stopped %s ago", ago)
	case h.Heard.IsZero():
		return "not heard since the site was started"
	}
	return fmt.Sprintf("silent since %s", h.Heard.Local().Format(time.DateTime))
}

func agentRevoke(env *environment) *cobra.Command {
	var of string
	return ofSite(&cobra.Command{
		Use:   "revoke HOST",
		Short: "Revoke a host's access to its site",
		Long: `revoke ends a host's connection and lets it in no more. The token that enrolled the host
enrols no others from then on. Changes on the host stay as they are: undo them first,
or there with linerate tune undo.`,
		Example: "  linerate agent revoke nas1",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := site.Revoke(cmd.Context(), env.Env, of, strings.TrimPrefix(args[0], "site:"))
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, r)
			}
			if r.TokenEnded != "" {
				env.err.Printf("its token %s enrols no more hosts: make a new one for those that are left\n", r.TokenEnded)
			}
			return env.out.Printf("%s (%s) is shut out of site %s\n", r.Name, r.ID, r.Site)
		},
	}, &of)
}

func agentLog(env *environment) *cobra.Command {
	var of string
	var most int
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what happened in a site: tokens, hosts, and who changed what",
		Long: `log shows the end of a file that only grows: each token, each host that was enrolled,
refused or revoked, each start of an agent, each command that joined, and each request
that changes a host or puts load on it, with who signed it.`,
		Example: "  linerate agent log\n  linerate agent log --last 1000 --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 1 || most > maxLines {
				return failure.Of(failure.Usage, "--last %d: want 1 to %d; the file has all of them", most, maxLines)
			}
			l, err := site.ReadLog(cmd.Context(), env.Env, of, most)
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, l)
			}
			t := document.Table{Head: document.Columns("Time", "Event", "Host", "About")}
			for _, x := range l.Lines {
				t.Row(x.Time.Local().Format(time.DateTime), x.Event, x.Host, strings.TrimSpace(labelText(x.About)))
			}
			return printDocument(env, document.Document{Lead: []document.Block{t.Block(), {Text: "all of it: " + l.File}}})
		},
	}
	cmd.Flags().IntVar(&most, "last", 50, "how many lines")
	return ofSite(cmd, &of)
}

// maxLines is the most of a site's log that is shown at once.
const maxLines = 100_000

// serversOf reads the site's own brokers, nats://a:4222,b:4222: each after the first may leave
// the scheme out.
func serversOf(text string) (out []string) {
	if text == "embedded" {
		return nil
	}
	scheme, _, _ := strings.Cut(text, "://")
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); !strings.Contains(s, "://") {
			s = scheme + "://" + s
		}
		out = append(out, s)
	}
	return out
}

// runSite keeps a site.
func (so serveOptions) runSite(cmd *cobra.Command, env *environment, args []string) error {
	switch {
	case so.nats != "embedded" && !strings.Contains(so.nats, "://"):
		return failure.Of(failure.Usage, "--nats %q: want embedded, the broker that linerate brings, or the site's own, such as nats://a:4222,nats://b:4222", so.nats)
	case so.nats != "embedded" && cmd.Flags().Changed("nats-listen"):
		return failure.Of(failure.Usage, "--nats-listen is of the broker that linerate brings: leave it out with --nats %s", so.nats)
	case so.site == "" || so.site == everyHost:
		return failure.Of(failure.Usage, "name the site with --site, such as --site lab")
	case len(args) > 0:
		return failure.Of(failure.Usage, "serve --nats keeps a site and shows no page: leave out mounts and hosts; linerate serve --site shows the page of its hosts")
	}
	var of []string // the page's
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if !slices.Contains([]string{"nats", "site", "nats-listen", "json"}, f.Name) {
			of = append(of, "--"+f.Name)
		}
	})
	if len(of) > 0 {
		return failure.Of(failure.Usage, "serve --nats keeps a site and shows no page: leave out %s; linerate serve --site shows the page of its hosts", strings.Join(of, ", "))
	}
	p := newProgress(env)
	defer p.End()
	err := site.Serve(cmd.Context(), env.Env, site.Options{Site: so.site, Listen: so.natsListen, Servers: serversOf(so.nats), Serving: func(url string) {
		p.Say("site %s is kept here until Ctrl-C; its hosts call %s; linerate agent token enrols one", so.site, url)
	}}, p)
	if cmd.Context().Err() != nil { // Ctrl-C is how it ends
		return nil
	}
	return err
}
