package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/check"
	"linerate/internal/failure"
	"linerate/internal/reach"
	"linerate/internal/report"
	"linerate/internal/unit"
)

type checkOptions struct {
	check.Options
	snapshot       string
	hideNames      bool
	rules          bool
	inventory      bool
	format, failOn string
	lineRate       string
	threshold      int // index of failOn in check.Severities; beyond it nothing fails
}

// longestLook bounds --watch: longer than that is monitoring, which others do better.
const longestLook = 10 * time.Minute

// secondLook is how long counters are watched when the first look finds one that
// may rise.
const secondLook = 2 * time.Second

func checkCommand(env *environment) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [HOST…]",
		Short: "Read hosts and report what is wrong with them, worst first, each with its bound on throughput",
		Long: `check reads a host's NICs, slots, interrupts, CPUs, TCP settings, mounts, disks
and services from /proc, /sys and netlink, and applies its rules to them. It puts
no load on anything, changes nothing, and needs no root; it says what root would
add.

For several hosts it also checks the path between each pair: the interfaces that
traffic really takes, the round trip, and the largest packet that arrives in each
direction. For that it sends some dozen UDP datagrams between the data addresses,
or a few hundred if large ones are lost, on ports that are open only for this; the
output says how many it sent. The data addresses are those of the fastest network
that both hosts are in.

Findings come worst first: what was seen, why it matters and the bound that it
puts on throughput, the fix, and the source. A finding is a possibility;
linerate explain tells which one limits a transfer now.

Error counters count since the host started, so what they show may be long over.
If one is not zero, check reads it again two seconds later: a counter that rose
in between is a finding, one that did not is at most information. --watch 10s
waits longer, which is best while data moves; --watch 0 reads once.

A snapshot records what was read, without host names, MACs, public addresses,
server and user names, for a bug report. Look through it before you share it.`,
		Example: `  linerate check                              this host
  linerate check nas1 client1 lab:server1     several, over ssh or in the lab
  linerate check --line-rate 10Gbit --rtt 16ms    against a path that you know
  linerate check --watch 10s                  which counters of errors rise, while a copy runs
  linerate check --fail-on medium --json      for a cron job: exit code 5 if there is one
  linerate check --snapshot /tmp/nas1         record this host for a bug report
  linerate check --snapshot /tmp/nas1.tar.zst   the same in one file
  linerate check freenas --snapshot /tmp/nas2   record one that is not Linux, over ssh
  linerate check --from /tmp/nas1             read the recording anywhere
  linerate check --lldp 35s                   with what the switch says of this host's ports
  linerate check nas1 --switch 192.0.2.2 --switch-login ~/.config/linerate/snmp.yaml
  linerate check nas1 --inventory             what it has, not what is wrong with it
  linerate check --site                       all hosts of a site
  linerate check --site role=dtn              hosts of a site: what they have in common, worst first
  linerate check --rules                      the rules`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Site, args = selected(o.Site, args)
			o.Always = cmd.Flags().Changed("watch") && o.Watch > 0
			if err := o.check(env, args); err != nil {
				return err
			}
			return runCheck(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.snapshot, "snapshot", "", "record this host into a new folder `DIR`, or into one file if the name ends in .tar.zst")
	f.BoolVar(&o.hideNames, "hide-names", false, "with --snapshot: replace the names of interfaces, mounts, volumes, pools and services too")
	f.StringVar(&o.From, "from", "", "read the recording in folder or archive `DIR` instead of a host")
	f.StringVar(&o.Site, "site", "", "check the hosts of a site: all, names (nas1,nas2) or labels (role=dtn); docs/fleet.md")
	alone(f)
	f.StringVar(&o.Of, "of", "", "with --site: the `SITE`, where this machine keeps several")
	f.BoolVar(&o.rules, "rules", false, "list the rules")
	f.BoolVar(&o.inventory, "inventory", false, "show instead what the hosts have: links, rings, queues, interrupts, offloads, FEC, disks (--json always has it)")
	f.StringVar(&o.format, "format", "text", "text, html or markdown")
	f.StringVar(&o.failOn, "fail-on", "", "exit with code 5 if there is a finding of this severity or worse: high, medium, low, info")
	f.StringVar(&o.lineRate, "line-rate", "", "what the path to the other end should carry, e.g. 10Gbit; with --rtt, or with several hosts; default: taken from the storage connections or the ports")
	durationVar(f, &o.Watch, "watch", secondLook, "read twice, this far apart, and say which error counters rise; by default only if one is not zero; 0: never")
	durationVar(f, &o.RTT, "rtt", 0, "round trip to the other end without load; with --line-rate")
	durationVar(f, &o.LLDP, "lldp", 0, "as root, listen for this time for the switches' LLDP frames about the hosts' ports, e.g. 35s: switches send them every 30 s")
	f.StringArrayVar(&o.Switches, "switch", nil, "ask this switch by SNMP for the hosts' ports, `ADDRESS` or ADDRESS:PORT; may be given several times")
	f.StringVar(&o.Login, "switch-login", "", "`FILE` with the credentials for --switch, which you alone may read; without it "+check.CommunityVariable+" has the community")
	return cmd
}

// check validates what was typed.
func (o *checkOptions) check(env *environment, args []string) error {
	o.Hosts, o.threshold = args, len(check.Severities())
	modes := 0
	for _, on := range []bool{o.snapshot != "" && len(args) != 1, o.From != "", o.rules, len(args) > 0, o.Site != ""} {
		if on {
			modes++
		}
	}
	switch {
	case modes > 1:
		return failure.Of(failure.Usage, "check either hosts, --site, --snapshot, --from or --rules, not more than one of them; see linerate check --help")
	case o.Of != "" && o.Site == "":
		return failure.Of(failure.Usage, "--of names the site whose hosts --site selects: give --site too")
	case o.Site != "" && (o.LLDP > 0 || len(o.Switches) > 0):
		return failure.Of(failure.Usage, "--lldp and --switch are for hosts that are named one by one, not for --site")
	case !slices.Contains([]string{"text", "html", "markdown"}, o.format):
		return failure.Of(failure.Usage, "--format %q: choose text, html or markdown", o.format)
	case env.json && o.format != "text":
		return failure.Of(failure.Usage, "--json and --format %s: choose one", o.format)
	case o.LLDP < 0 || o.LLDP > check.MaxLLDP:
		return failure.Of(failure.Usage, "--lldp %s: want at most %s; switches speak every 30 s", o.LLDP, check.MaxLLDP)
	case o.snapshot != "" && len(args) == 1 && (o.hideNames || o.From != "" || o.rules || o.Site != ""):
		return failure.Of(failure.Usage, "--snapshot of another host takes that host alone")
	case o.hideNames && o.snapshot == "":
		return failure.Of(failure.Usage, "--hide-names says what a recording holds: give --snapshot too")
	case (o.LLDP > 0 || len(o.Switches) > 0) && (o.From != "" || o.snapshot != "" || o.rules):
		return failure.Of(failure.Usage, "--lldp and --switch look at running hosts, not at a recording or the rules")
	case o.Login != "" && len(o.Switches) == 0:
		return failure.Of(failure.Usage, "--switch-login: name the switch with --switch")
	case o.Watch < 0 || o.Watch > longestLook:
		return failure.Of(failure.Usage, "--watch %s: choose 0s to %s", o.Watch, longestLook)
	case o.RTT < 0:
		return failure.Of(failure.Usage, "--rtt %s: a round trip takes time", o.RTT)
	}
	if o.failOn != "" {
		if o.threshold = slices.Index(check.Severities(), o.failOn); o.threshold < 0 {
			return failure.Of(failure.Usage, "--fail-on %q: choose one of %s", o.failOn, strings.Join(check.Severities(), ", "))
		}
	}
	if o.lineRate != "" {
		rate, err := unit.ParseBitRate(o.lineRate)
		if err != nil || rate == 0 {
			return failure.Of(failure.Usage, "--line-rate %q: want a rate such as 10Gbit", o.lineRate)
		}
		o.LineRate = rate
	}
	if o.RTT > 0 && o.LineRate == 0 || o.LineRate > 0 && o.RTT == 0 && len(args) < 2 {
		return failure.Of(failure.Usage, "a path has both a --line-rate and a --rtt: state both or neither (between several hosts the round trip is measured)")
	}
	return nil
}

func runCheck(ctx context.Context, env *environment, o checkOptions) error {
	switch {
	case o.rules:
		return printRules(env)
	case o.snapshot != "":
		return recordSnapshot(ctx, env, o)
	}
	p := newProgress(env)
	c, err := check.Run(ctx, env.Env, o.Options, p)
	p.End()
	if err != nil {
		return err
	}
	if err := printCheck(env, o, c); err != nil {
		return err
	}
	return o.outcome(c)
}

// recordForeign records a host that is not Linux.
func recordForeign(ctx context.Context, env *environment, o checkOptions, host string) error {
	if o.hideNames {
		return failure.Of(failure.Usage, "--hide-names: on %s names are not replaced: leave it out, and read the recording before you share it", env.Local.OS())
	}
	p := newProgress(env)
	r, err := check.RecordForeign(ctx, env.Env, host, o.snapshot, p)
	p.End()
	if err != nil {
		return err
	}
	return printed(env, r, nil, func() error {
		return env.out.Printf("%s: %d bytes. Its name, hardware and public addresses and long identifiers are replaced, and what\nnames other machines is left out; private addresses, data sets and files of settings stay: look\nthrough it before you share it (docs/systems.md).\n", r.File, r.Bytes)
	})
}

// recordSnapshot records this host, and says what to do with the recording.
func recordSnapshot(ctx context.Context, env *environment, o checkOptions) error {
	switch {
	case len(o.Hosts) == 1:
		return recordForeign(ctx, env, o, o.Hosts[0])
	case env.Local.OS() != "linux":
		return recordForeign(ctx, env, o, reach.Here)
	}
	watch := time.Duration(0)
	if o.Always {
		watch = o.Watch
	}
	names := check.KeepNames
	if o.hideNames {
		names = check.HideNames
	}
	r, err := check.Record(ctx, env.Env, o.snapshot, watch, names)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, r)
	}
	stays := "the names of interfaces, mounts, volumes, pools, services and their files are not (--hide-names)"
	if o.hideNames {
		stays = "so are the names of interfaces, mounts, volumes, pools and services, and the files of settings are left out"
	}
	return env.out.Printf("%s: %d bytes. Host, server and user names, MACs, serial numbers and public addresses are replaced;\n%s.\nPrivate addresses stay; docs/check.md lists all that does. Look through it before you share it, then:\n  linerate check --from %s\n", r.File, r.Bytes, stays, o.snapshot)
}

// outcome is the exit code: a host that could not be looked at comes before
// what was found on others.
func (o checkOptions) outcome(c report.Check) error {
	var failed []string
	var causes []error
	found, lost := 0, 0
	for _, h := range c.Hosts {
		if h.Error != "" {
			lost++
			failed, causes = append(failed, h.Name+": "+h.Error), append(causes, h.Cause)
		}
		found += o.severe(h.Findings)
	}
	for _, p := range c.Pairs {
		found += o.severe(p.Findings)
	}
	switch {
	case len(failed) > 0:
		if n := len(failed); n > maxFailed {
			failed = append(failed[:maxFailed:maxFailed], fmt.Sprintf("and %d more", n-maxFailed))
		}
		err := failure.Of(failure.Failed, "%d of %d hosts could not be looked at: %s", lost, len(c.Hosts), strings.Join(failed, "; "))
		return failure.AsAdvised(err, causes...)
	case found > 0:
		return failure.Of(failure.Found, "%d findings of severity %s or worse", found, o.failOn)
	}
	return nil
}

// maxFailed is how many hosts a message about those that could not be looked at names.
const maxFailed = 16

// severe is how many findings are as severe as --fail-on or worse.
func (o checkOptions) severe(found []report.CheckFinding) int {
	n := 0
	for _, f := range found {
		if slices.Index(check.Severities(), f.Severity) <= o.threshold && o.failOn != "" {
			n++
		}
	}
	return n
}

func printCheck(env *environment, o checkOptions, c report.Check) error {
	page := c.Document
	if o.inventory {
		page = c.Inventory
	}
	switch {
	case env.json:
		return printJSON(env, c)
	case o.format == "html":
		return page().HTML(env.out)
	case o.format == "markdown":
		return page().Markdown(env.out)
	}
	return printDocument(env, page())
}
