package cli

import (
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"linerate/internal/app/runs"
)

func runsCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "runs",
		Short:   "List the recorded runs, newest first",
		Long:    "runs lists the bundles below the XDG data directory. A damaged one is shown as such.",
		Example: "  linerate runs\n  linerate runs --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			root, all, err := runs.List(env.Env)
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, list("runs", all))
			}
			return printRuns(env, root, all)
		},
	}
}

func printRuns(env *environment, root string, list []runs.Summary) error {
	if len(list) == 0 {
		fmt.Fprintf(env.out, "no runs in %s yet; linerate demo makes one\n", filepath.Join(root, "runs"))
		return nil
	}
	w := tabwriter.NewWriter(env.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tLIMITER\tOF CEILING\tGAIN\tVERDICT")
	for _, s := range list {
		if s.State != runs.Complete {
			fmt.Fprintf(w, "%s\t%s\t\t\t%s\n", s.ID, s.State, s.Why)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", s.ID, s.Limiter, percent(s.ShareOfCeiling), times(s.Ratio), shorten(s.Verdict, env.width))
	}
	return w.Flush()
}

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f%%", *v*100)
}

func times(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("×%.2f", *v)
}

// shorten cuts s to n characters; the whole of it is in the report.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
