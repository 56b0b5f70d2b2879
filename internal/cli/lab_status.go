package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/lab"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func labStatusCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the labs that are up: hosts, links and their counters, faults",
		Example: "  linerate lab status\n  linerate lab status --name office --json",
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return runLabStatus(cmd.Context(), env, name) },
	}
	labName(cmd, env, &name)
	return cmd
}

func runLabStatus(ctx context.Context, env *environment, name string) error {
	all, err := lab.Statuses(ctx, env.Env, name)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, all)
	}
	for _, s := range all {
		if err := printLab(env.out, s, env.Now()); err != nil {
			return err
		}
	}
	return nil
}

func printLab(out *document.Screen, s lab.Status, now time.Time) error {
	rates := "a tenth of the paper's rates"
	if s.FullRate {
		rates = "the paper's rates"
	}
	out.Printf("%s: %s (%s, up for %s)\n", s.Name, s.Title, rates, now.Sub(s.Since).Round(time.Second))
	c := beginColumns(out)
	c.part("HOST", "KIND", "INTERFACES", "CORES", "PID")
	for _, h := range s.Hosts {
		var ports []string
		for _, p := range h.Ports {
			ports = append(ports, fmt.Sprintf("%s %s mtu %d", p.Name, p.Address, p.MTU))
		}
		c.row(h.Name, string(h.Kind), strings.Join(ports, ", "), strings.Trim(fmt.Sprint(h.CPUs), "[]"), strconv.Itoa(h.PID))
	}
	c.part("LINK", "THERE", "BACK", "CARRIED", "DROPPED")
	for _, l := range s.Links {
		there, back := l.Counts[0], l.Counts[1]
		c.row(l.ID, shapeText(l.Shapes[0]), shapeText(l.Shapes[1]), fmt.Sprintf("%s, %s", unit.Bytes(there.WireBytes), unit.Bytes(back.WireBytes)),
			fmt.Sprintf("%d, %d", there.Lost+there.QueueDrops+there.MTUDrops, back.Lost+back.QueueDrops+back.MTUDrops))
	}
	if err := c.print(); err != nil {
		return err
	}
	if err := printServers(out, s); err != nil {
		return err
	}
	if len(s.Faults) > 0 {
		c.part("FAULT", "WHAT", "LIMITER")
	}
	for _, f := range s.Faults {
		c.row(strconv.Itoa(f.Number), f.What, string(f.Limiter))
	}
	for _, l := range s.LeftOut {
		c.line("left out: %s", l)
	}
	for _, x := range s.Warnings {
		c.line("warning: %s (%s); %s", x.What, x.Evidence, x.Next)
	}
	return c.print()
}

// printServers lists them with the command by which a client reads a file.
func printServers(out *document.Screen, s lab.Status) error {
	if len(s.Servers) == 0 {
		return nil
	}
	c := beginColumns(out)
	c.part("SERVER", "URL", "READ A FILE FROM IT, ON A CLIENT")
	for _, x := range s.Servers {
		get := "with an initiator such as iscsi-dd"
		if len(x.Get) > 0 {
			get = lab.CommandLine(x.Get)
		}
		c.row(fmt.Sprintf("%s %s", x.Host, x.Kind), x.URL, get)
	}
	if err := c.print(); err != nil {
		return err
	}
	return out.Printf("\n")
}

// shapeText is one direction of a link in a few words.
func shapeText(s lab.Shape) string {
	out := s.Rate.String()
	if s.Delay > 0 {
		out += " +" + s.Delay.String()
	}
	if s.Jitter > 0 {
		out += "±" + s.Jitter.String()
	}
	share := func(name string, v float64) {
		if v > 0 {
			out += fmt.Sprintf(" %s %.3g%%", name, 100*v)
		}
	}
	share("loss", s.Loss)
	share("duplicate", s.Duplicate)
	share("reorder", s.Reorder)
	if s.MTU > 0 {
		out += fmt.Sprintf(" mtu %d", s.MTU)
	}
	return out
}
