package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/app/tune"
	"linerate/internal/reach"
	"linerate/internal/report"
)

func leaveCommand(env *environment) *cobra.Command {
	return onHost(env, &cobra.Command{
		Use:   "leave [HOST]",
		Short: "Remove linerate's journal and binary from a host, once nothing of its changes is in force",
		Long: `leave removes what linerate keeps on a host: the journal, undo.sh and the copy of
the program that could undo changes without you. While a change is in force it
refuses: undo first.`,
		Example: `  linerate leave nas1
  linerate tune undo nas1 && linerate leave nas1`,
	}, func(ctx context.Context, n reach.Name, p *progress) (tune.Left, error) {
		return tune.Leave(ctx, env.Env, n, p)
	}, func(n reach.Name, doc tune.Left) {
		switch {
		case len(doc.Removed) == 0:
			fmt.Fprintf(env.out, "linerate has nothing on %s\n", n)
		case len(doc.Kept) > 0:
			fmt.Fprintf(env.out, "removed %s from %s of %s; what is not linerate's stays: %s\n", strings.Join(doc.Removed, ", "), report.Printable(doc.Dir), n, report.Printable(strings.Join(doc.Kept, ", ")))
		default:
			fmt.Fprintf(env.out, "removed %s of %s (%s)\n", report.Printable(doc.Dir), n, strings.Join(doc.Removed, ", "))
		}
	})
}
