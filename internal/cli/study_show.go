package cli

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/study"
	"linerate/internal/report"
	"linerate/internal/report/document"
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
			r, err := study.Show(env.Env, args[0])
			if err != nil {
				return studyError(err)
			}
			if env.json {
				return printJSON(env, r.Study)
			}
			return report.Text(env.out, r, env.color, env.width)
		},
	}
}

func studyListCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the studies, newest first, also those that were interrupted",
		Example: "  linerate study list\n  linerate study list --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			all, err := study.List(env.Env)
			if err != nil {
				return err
			}
			if env.json {
				return printJSON(env, list("studies", all))
			}
			return printDocument(env, studiesPage(all))
		},
	}
}

func studiesPage(list []study.Summary) document.Document {
	if len(list) == 0 {
		return saying("no studies yet; linerate study new lists templates to begin with")
	}
	t := document.Table{Head: document.Columns("Study", "State", "#Runs", "Begun", "Next")}
	for _, s := range list {
		next := "linerate study resume " + s.ID
		switch s.State {
		case study.Finished:
			next = "linerate study show " + s.Bundle
		case study.Running:
			next = "linerate study show " + s.ID
		case study.Damaged:
			next = s.Why
		}
		t.Row(s.ID, string(s.State), strconv.Itoa(s.Runs), s.Begun.Local().Format(time.DateTime), next)
	}
	return document.Document{Lead: []document.Block{t.Block()}}
}
