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
	return &cobra.Command{
		Use:   "leave [HOST]",
		Short: "Remove linerate's journal and binary from a host, once nothing of its changes is in force",
		Long: `leave removes what linerate keeps on a host: the journal, undo.sh and the copy of
the program that could undo changes without you. While a change is in force it
refuses: undo first.`,
		Example: `  linerate leave nas1
  linerate tune undo nas1 && linerate leave nas1`,
		Args: usage(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := tuneHost(args)
			if err != nil {
				return err
			}
			return leave(cmd.Context(), env, n)
		},
	}
}

func leave(ctx context.Context, env *environment, n reach.Name) error {
	p := newProgress(env)
	defer p.End()
	doc, err := tune.Leave(ctx, env.Env, n, p)
	if err != nil {
		return err
	}
	if env.json {
		return printJSON(env, doc)
	}
	switch {
	case len(doc.Removed) == 0:
		fmt.Fprintf(env.out, "linerate has nothing on %s\n", n)
	case len(doc.Kept) > 0:
		fmt.Fprintf(env.out, "removed %s from %s of %s; what is not linerate's stays: %s\n", strings.Join(doc.Removed, ", "), report.Printable(doc.Dir), n, report.Printable(strings.Join(doc.Kept, ", ")))
	default:
		fmt.Fprintf(env.out, "removed %s of %s (%s)\n", report.Printable(doc.Dir), n, strings.Join(doc.Removed, ", "))
	}
	return nil
}
