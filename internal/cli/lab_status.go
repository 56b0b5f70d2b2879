package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/lab"
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
		return printJSON(env, list("labs", all))
	}
	for _, s := range all {
		if err := printLab(env.out, s, env.Now()); err != nil {
			return err
		}
	}
	return nil
}

func printLab(out io.Writer, s lab.Status, now time.Time) error {
	rates := "a tenth of the paper's rates"
	if s.FullRate {
		rates = "the paper's rates"
	}
	fmt.Fprintf(out, "%s: %s (%s, up for %s)\n", s.Name, s.Title, rates, now.Sub(s.Since).Round(time.Second))
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nHOST\tKIND\tINTERFACES\tCORES\tPID")
	for _, h := range s.Hosts {
		var ports []string
		for _, p := range h.Ports {
			ports = append(ports, fmt.Sprintf("%s %s mtu %d", p.Name, p.Address, p.MTU))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\n", h.Name, h.Kind, strings.Join(ports, ", "), strings.Trim(fmt.Sprint(h.CPUs), "[]"), h.PID)
	}
	fmt.Fprintln(w, "\nLINK\tTHERE\tBACK\tCARRIED\tDROPPED")
	for _, l := range s.Links {
		there, back := l.Counts[0], l.Counts[1]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s, %s\t%d, %d\n", l.ID, shapeText(l.Shapes[0]), shapeText(l.Shapes[1]), unit.Bytes(there.WireBytes), unit.Bytes(back.WireBytes),
			there.Lost+there.QueueDrops+there.MTUDrops, back.Lost+back.QueueDrops+back.MTUDrops)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := printServers(out, s); err != nil {
		return err
	}
	if len(s.Faults) > 0 {
		fmt.Fprintln(w, "\nFAULT\tWHAT\tLIMITER")
	}
	for _, f := range s.Faults {
		fmt.Fprintf(w, "%d\t%s\t%s\n", f.Number, f.What, f.Limiter)
	}
	for _, l := range s.LeftOut {
		fmt.Fprintf(w, "\nleft out: %s\n", l)
	}
	for _, x := range s.Warnings {
		fmt.Fprintf(w, "\nwarning: %s (%s); %s\n", x.What, x.Evidence, x.Next)
	}
	return w.Flush()
}

// printServers lists them with the command by which a client reads a file.
func printServers(out io.Writer, s lab.Status) error {
	if len(s.Servers) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nSERVER\tURL\tREAD A FILE FROM IT, ON A CLIENT")
	for _, x := range s.Servers {
		get := "with an initiator such as iscsi-dd"
		if len(x.Get) > 0 {
			get = lab.CommandLine(x.Get)
		}
		fmt.Fprintf(w, "%s %s\t%s\t%s\n", x.Host, x.Kind, x.URL, get)
	}
	fmt.Fprintln(w)
	return w.Flush()
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
