package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"linerate/internal/app/runs"
	"linerate/internal/report/document"
	"linerate/internal/unit"
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
			return printDocument(env, runsPage(root, all))
		},
	}
}

func runsPage(root string, list []runs.Summary) document.Document {
	if len(list) == 0 {
		return saying(fmt.Sprintf("no runs in %s yet; linerate demo makes one", filepath.Join(root, "runs")))
	}
	t := document.Table{Head: document.Columns("Run", "Limiter", "#Of ceiling", "#Gain", "Verdict")}
	t.Head[4].Clip = true // the whole of it is in the report
	for _, s := range list {
		if s.State != runs.Complete {
			t.Row(s.ID, string(s.State), "", "", s.Why)
			continue
		}
		t.Row(s.ID, string(s.Limiter), shareOr(s.ShareOfCeiling), times(s.Ratio), s.Verdict)
	}
	return document.Document{Lead: []document.Block{t.Block()}}
}

// shareOr prints a share in whole percent, or that it is not known.
func shareOr(v *float64) string {
	if v == nil {
		return "–"
	}
	return unit.Percent(*v)
}

func times(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("×%.2f", *v)
}
