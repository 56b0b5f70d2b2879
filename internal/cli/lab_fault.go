package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"linerate/internal/app/lab"
)

// labFaultCommand is `linerate lab fault`.
func labFaultCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "What can be put wrong in a lab",
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
				return printJSON(env, lab.Catalogue())
			}
			return printCatalogue(env)
		},
	}
}

func printCatalogue(env *environment) error {
	w := tabwriter.NewWriter(env.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tLIMITER\tOF\tSEVERITIES\tWHAT IS WRONG")
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", f.ID, f.Limiter, f.AppliesTo, text, doc)
	}
	return w.Flush()
}
