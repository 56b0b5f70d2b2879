package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// faultEntry is the JSON form of a fault of the catalogue (docs/json.md).
type faultEntry struct {
	ID             string            `json:"id"`
	Doc            string            `json:"doc"`
	AppliesTo      fault.Place       `json:"applies_to"`
	Limiter        model.LimiterID   `json:"limiter"`
	Severities     []fault.Severity  `json:"severities"`
	FixKind        model.FixKind     `json:"fix_kind"`
	Counterfactual string            `json:"counterfactual"`
	Confusable     []model.LimiterID `json:"confusable"`
	Workloads      []string          `json:"workloads"`
	HostKinds      []topology.Kind   `json:"host_kinds"`
	Beside         string            `json:"beside,omitempty"`
	Needs          string            `json:"needs,omitempty"`
}

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
				return printJSON(env, faultEntries())
			}
			return printCatalogue(env)
		},
	}
}

func faultEntries() []faultEntry {
	var out []faultEntry
	for _, f := range fault.Catalogue() {
		like := f.Confusable
		if like == nil {
			like = []model.LimiterID{}
		}
		out = append(out, faultEntry{
			ID: f.ID, Doc: f.Doc, AppliesTo: f.AppliesTo, Limiter: f.Limiter, Severities: f.Severities, FixKind: f.FixKind,
			Counterfactual: f.Counterfactual, Confusable: like, Workloads: f.Workloads, HostKinds: f.HostKinds, Beside: f.Beside, Needs: f.Needs,
		})
	}
	return out
}

func printCatalogue(env *environment) error {
	w := tabwriter.NewWriter(env.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tLIMITER\tOF\tSEVERITIES\tWHAT IS WRONG")
	for _, f := range fault.Catalogue() {
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
