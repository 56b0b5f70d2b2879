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
		return printJSON(env, list("labs", all))
	}
	for _, s := range all {
		if err := printDocument(env, labPage(s, env.Now())); err != nil {
			return err
		}
	}
	return nil
}

// labPage is one lab: hosts, links with their counters, servers, faults.
func labPage(s lab.Status, now time.Time) document.Document {
	rates := "a tenth of the paper's rates"
	if s.FullRate {
		rates = "the paper's rates"
	}
	d := document.Document{Line: fmt.Sprintf("%s: %s (%s, up for %s)", s.Name, s.Title, rates, now.Sub(s.Since).Round(time.Second))}
	d.Add("", hostTable(s).Block())
	d.Add("", labLinks(s).Block())
	if len(s.Servers) > 0 {
		d.Add("", labServers(s).Block())
	}
	if len(s.Faults) > 0 {
		t := document.Table{Head: document.Columns("#Fault", "What", "Limiter")}
		for _, f := range s.Faults {
			t.Row(strconv.Itoa(f.Number), f.What, claimed(f.Limiter))
		}
		d.Add("", t.Block())
	}
	for _, l := range s.LeftOut {
		d.Add("", document.Block{Text: "left out: " + l})
	}
	for _, x := range s.Warnings {
		d.Add("", document.Block{Strong: fmt.Sprintf("warning: %s (%s); %s", x.What, x.Evidence, x.Next)})
	}
	return d
}

func hostTable(s lab.Status) document.Table {
	t := document.Table{Head: document.Columns("Host", "Kind", "Interfaces", "Cores", "#PID")}
	for _, h := range s.Hosts {
		var ports []string
		for _, p := range h.Ports {
			ports = append(ports, fmt.Sprintf("%s %s mtu %d", p.Name, p.Address, p.MTU))
		}
		t.Row(h.Name, string(h.Kind), strings.Join(ports, ", "), strings.Trim(fmt.Sprint(h.CPUs), "[]"), strconv.Itoa(h.PID))
	}
	return t
}

// labLinks has what each link carried and dropped, there and back.
func labLinks(s lab.Status) document.Table {
	t := document.Table{Head: document.Columns("Link", "There", "Back", "Carried", "Dropped")}
	for _, l := range s.Links {
		there, back := l.Counts[0], l.Counts[1]
		t.Row(l.ID, shapeText(l.Shapes[0]), shapeText(l.Shapes[1]), fmt.Sprintf("%s, %s", unit.Bytes(there.WireBytes), unit.Bytes(back.WireBytes)),
			fmt.Sprintf("%d, %d", there.Lost+there.QueueDrops+there.MTUDrops, back.Lost+back.QueueDrops+back.MTUDrops))
	}
	return t
}

// labServers lists them with the command by which a client reads a file.
func labServers(s lab.Status) document.Table {
	t := document.Table{Head: document.Columns("Server", "URL", "Read a file from it, on a client")}
	for _, x := range s.Servers {
		get := "with an initiator such as iscsi-dd"
		if len(x.Get) > 0 {
			get = lab.CommandLine(x.Get)
		}
		t.Row(x.Host+" "+string(x.Kind), x.URL, get)
	}
	return t
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
