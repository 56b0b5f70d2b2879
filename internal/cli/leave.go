package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/app/tune"
	"linerate/internal/reach"
	"linerate/internal/report/document"
)

func leaveCommand(env *environment) *cobra.Command {
	return onHost(env, &cobra.Command{
		Use:   "leave [HOST]",
		Short: "Remove linerate's journal and binary from a host, once nothing of its changes is in force",
		Long: `leave removes what linerate keeps on a host: the journal, undo.sh, and the copy of
the program with which the host can undo changes by itself. leave refuses while
a change is in force: undo it first.`,
		Example: `  linerate leave nas1
  linerate tune undo nas1 && linerate leave nas1`,
	}, func(ctx context.Context, n reach.Name, p *progress) (tune.Left, error) {
		return tune.Leave(ctx, env.Env, n, p)
	}, func(n reach.Name, doc tune.Left) document.Document {
		switch {
		case len(doc.Removed) == 0:
			return saying(fmt.Sprintf("linerate has nothing on %s", n))
		case len(doc.Kept) > 0:
			return saying(fmt.Sprintf("removed %s from %s of %s; what is not linerate's stays: %s", strings.Join(doc.Removed, ", "), doc.Dir, n, strings.Join(doc.Kept, ", ")))
		}
		return saying(fmt.Sprintf("removed %s of %s (%s)", doc.Dir, n, strings.Join(doc.Removed, ", ")))
	})
}
