package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/lab"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/report/document"
)

// labFaultCommand is `linerate lab fault`.
func labFaultCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "Inject faults into a lab, list and remove them",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(labFaultAddCommand(env), labFaultListCommand(env), labFaultRemoveCommand(env), labFaultCatalogueCommand(env))
	return cmd
}

func labFaultCatalogueCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "catalogue",
		Short:   "List the faults that a lab can be given by name",
		Long:    "catalogue lists every fault with its limiter and its severities. It needs no lab.\ndocs/faults.md has the same with what each looks like.",
		Example: "  linerate lab fault catalogue\n  linerate lab fault catalogue --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if env.json {
				return printJSON(env, list("faults", lab.Catalogue()))
			}
			return printCatalogue(env)
		},
	}
}

func printCatalogue(env *environment) error {
	t := document.Table{Head: document.Columns("Fault", "Limiter", "Of", "Severities", "What is wrong")}
	for _, f := range lab.Catalogue() {
		text := ""
		for i, s := range f.Severities {
			if i > 0 {
				text += ", "
			}
			text += s.Name + " " + s.Text
		}
		doc := f.Doc
		if f.Needs != "" {
			doc += " (needs " + f.Needs + ")"
		}
		t.Row(f.ID, string(f.Limiter), string(f.AppliesTo), text, doc)
	}
	return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
}

func labFaultAddCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "add ID [SEVERITY] [at TARGET] | TARGET KEY=VALUE…",
		Short: "Inject a fault, from the catalogue or by hand",
		Long: `add puts a fault into a lab that is up, while traffic flows. A fault of the
catalogue has a severity (mild, medium, severe; medium where none is given) and a
place of its own, unless one is named. By hand a link takes rate, delay, jitter,
loss, burst, duplicate, reorder, reorder-by, mtu, queue and direction (ab, ba or
both), a host mtu, tso, gso, gro, tcp_… and any sysctl of net or vm, a switch mtu.
docs/faults.md has them all.`,
		Example: `  linerate lab fault add loss-random severe
  linerate lab fault add link-rate mild at link:client1-switch
  linerate lab fault add link:client1-switch loss=0.1% delay=5ms
  linerate lab fault add host:server1 tcp_rmem="4096 131072 262144"
  linerate lab fault add host:server1 fill=80%`,
		Args: usage(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := lab.AddFault(cmd.Context(), env.Env, name, args)
			return faultChanged(env, "added", f, err)
		},
	}
	labName(cmd, env, &name)
	return cmd
}

func labFaultRemoveCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "remove NUMBER",
		Short:   "Remove a fault and restore what was there before",
		Example: "  linerate lab fault list\n  linerate lab fault remove 1",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 {
				return failure.Of(failure.Usage, "fault %q: want its number; see linerate lab fault list", args[0])
			}
			f, err := lab.RemoveFault(cmd.Context(), env.Env, name, n)
			return faultChanged(env, "removed", f, err)
		},
	}
	labName(cmd, env, &name)
	return cmd
}

// faultChanged prints what became of a fault.
func faultChanged(env *environment, done string, f lab.Injected, err error) error {
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, f)
	}
	return printDocument(env, saying(fmt.Sprintf("%s fault %d: %s", done, f.Number, f.What)))
}

func labFaultListCommand(env *environment) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the faults that were injected into a lab",
		Example: "  linerate lab fault list\n  linerate lab fault list --json",
		Args:    usage(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return listFaults(cmd.Context(), env, name) },
	}
	labName(cmd, env, &name)
	return cmd
}

func listFaults(ctx context.Context, env *environment, name string) error {
	of, faults, err := lab.Faults(ctx, env.Env, name)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, list("faults", faults))
	}
	if len(faults) == 0 {
		return printDocument(env, saying(fmt.Sprintf("nothing was put wrong in lab %s; linerate lab fault catalogue lists what can be", of)))
	}
	t := document.Table{Head: document.Columns("#Number", "What", "Limiter", "For")}
	for _, f := range faults {
		what := f.What
		if f.By != "" {
			what += " (by study " + f.By + ")"
		}
		t.Row(strconv.Itoa(f.Number), what, claimed(f.Limiter), env.Now().Sub(f.Since).Round(time.Second).String())
	}
	return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
}

// claimed is the limiter of a fault of the catalogue; what was set by hand claims
// none.
func claimed(id model.LimiterID) string {
	if id == model.Undetermined {
		return "–"
	}
	return string(id)
}
