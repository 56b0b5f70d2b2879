package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/report"
	"linerate/internal/store"
)

func studyShowCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "What a study found, or has found so far",
		Long: `show prints what a study found. RUN is a bundle of linerate runs, or a study of
linerate study list, also one that goes on or was interrupted: then it is what is
known so far. linerate report RUN renders the whole white paper.`,
		Example: "  linerate study show last\n  linerate study show 20261121-2015 --json",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := findStudy(env, args[0])
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, r.Study)
			}
			return report.Text(env.out, r, env.color, env.width)
		},
	}
}

// findStudy reads a study of a bundle, or one that is not over.
func findStudy(env *environment, ref string) (*model.Results, error) {
	root, err := store.DataDir(env.Getenv)
	if err != nil {
		return nil, err
	}
	past, err := store.ReadStudy(root, ref)
	switch {
	case err == nil && past.Finished() == nil:
		return soFar(past, env.Now())
	case err == nil:
		ref = past.Finished().Bundle
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	dir, err := store.Resolve(root, ref)
	if err != nil {
		return nil, err
	}
	b, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	if b.Results.Study == nil {
		return nil, failure.Of(failure.Usage, "%s is no study but %s: linerate report %s shows it", b.ID(), b.Manifest.Command, b.ID())
	}
	return b.Results, nil
}

func studyListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the studies, newest first, also those that were interrupted",
		Example: "  linerate study list\n  linerate study list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			root, err := store.DataDir(env.Getenv)
			if err != nil {
				return err
			}
			list, err := store.ListStudies(root)
			if err != nil {
				return err
			}
			if env.json {
				if list == nil {
					list = []store.StudySummary{}
				}
				return printJSON(env, list)
			}
			return printStudies(env, list)
		},
	}
}

func printStudies(env *environment, list []store.StudySummary) error {
	if len(list) == 0 {
		fmt.Fprintln(env.out, "no studies yet; linerate study new lists templates to begin with")
		return nil
	}
	w := tabwriter.NewWriter(env.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "STUDY\tSTATE\tRUNS\tBEGUN\tNEXT")
	for _, s := range list {
		next := "linerate study resume " + s.ID
		switch s.State {
		case store.StudyIsFinished:
			next = "linerate study show " + s.Bundle
		case store.StudyIsRunning:
			next = "linerate study show " + s.ID
		case store.StudyIsDamaged:
			next = s.Why
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\n", s.ID, s.State, s.Runs, s.Begun.Local().Format(time.DateTime), next)
	}
	return w.Flush()
}
