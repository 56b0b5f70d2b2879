package cli

import (
	"fmt"
	"path/filepath"

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
			root, list, err := runs.List(env.Env)
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, list)
			}
			return printRuns(env, root, list)
		},
	}
}

func printRuns(env *environment, root string, list []runs.Summary) error {
	if len(list) == 0 {
		env.out.Printf("no runs in %s yet; linerate demo makes one\n", filepath.Join(root, "runs"))
		return nil
	}
	c := newColumns(env.out, "RUN", "LIMITER", "OF CEILING", "GAIN", "VERDICT")
	for _, s := range list {
		if s.State != runs.Complete {
			c.row(s.ID, string(s.State), "", "", s.Why)
			continue
		}
		c.row(s.ID, string(s.Limiter), percent(s.ShareOfCeiling), times(s.Ratio), shorten(s.Verdict, env.width))
	}
	return c.print()
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
