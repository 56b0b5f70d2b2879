package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/study"
	"linerate/internal/failure"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func studyCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "study",
		Short: "Controlled experiments: which setting pays, by how much, and what did nothing",
		Long: `A study compares settings, loads and an operator's changes in randomised blocks,
with planned looks and a correction for all declared comparisons, and undoes
everything that it changed. docs/study.md explains its file.`,
		Example: `  linerate study new                           the templates, by paper and by question
  linerate study new which-settings-pay > s.yaml
  linerate study plan s.yaml                   what would be run and changed, how long, what it could see
  linerate study run s.yaml                    make it; Ctrl-C is safe, and resume goes on
  linerate study show last                     what it found, or has found so far
  linerate study history nas1 off=2026-11-02,2026-11-04 on=2026-11-03,2026-11-05   what was watched`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(studyNewCommand(env), studyPlanCommand(env), studyRunCommand(env), studyResumeCommand(env),
		studyShowCommand(env), studyListCommand(env), studyHistoryCommand(env), studySchemaCommand(env))
	return cmd
}

func studyNewCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "new [TEMPLATE]",
		Short: "Print a study file to begin with; without a name, list the templates",
		Args:  usage(cobra.MaximumNArgs(1)),
		Example: `  linerate study new
  linerate study new dell-x520 > x520.yaml
  linerate study new is-it-noise > noise.yaml`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				t, err := study.FindTemplate(args[0])
				if err != nil {
					return failure.Of(failure.Usage, "%v; linerate study new lists all", err)
				}
				if env.json {
					return printJSON(env, t)
				}
				_, err = io.WriteString(env.out, t.Text)
				return err
			}
			all := study.Templates()
			for i := range all {
				all[i].Text = ""
			}
			if env.json {
				return printJSON(env, list("templates", all))
			}
			t := document.Table{Head: document.Columns("Template", "Question")}
			for _, x := range all {
				t.Row(x.Name, x.Question)
			}
			return printDocument(env, document.Document{Lead: []document.Block{t.Block()}})
		},
	}
}

func studySchemaCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of study files, for editors that check and complete",
		Args:  usage(cobra.NoArgs),
		Example: `  linerate study schema > ~/.config/linerate/study.schema.json
  # yaml-language-server: $schema=study.schema.json      as the first line of a study file`,
		RunE: func(*cobra.Command, []string) error {
			_, err := env.out.Write(study.Schema())
			return err
		},
	}
}

// maxStudyFile bounds what is read of a file; the parser bounds it too.
const maxStudyFile = 1 << 20

// studySource reads a study file.
func studySource(name string) (study.Source, error) {
	text, err := app.ReadFile(name, maxStudyFile)
	if err != nil {
		kind := failure.Failed
		if errors.Is(err, fs.ErrNotExist) {
			kind = failure.Usage
		}
		return study.Source{}, failure.Of(kind, "read study: %v; linerate study new prints a file to begin with", err)
	}
	return study.Source{Name: name, Text: text}, nil
}

// studyError says what the user can do about a study that did not go to its end.
func studyError(err error) error {
	kind := failure.KindOf(err)
	var over *study.OverError
	var other *study.OtherFileError
	var not *study.NotAStudyError
	var stopped *study.StoppedError
	switch {
	case errors.As(err, &over):
		return failure.Of(kind, "%w: linerate study show %s shows what it found", err, over.Bundle)
	case errors.As(err, &other):
		return failure.Of(kind, "%w; linerate study resume %s goes on by that", err, other.ID)
	case errors.As(err, &not):
		return failure.Of(kind, "%w: linerate report %s shows it", err, not.ID)
	case errors.As(err, &stopped):
		return studyStopped(kind, stopped)
	}
	return err
}

// studyStopped says how to go on with a study.
func studyStopped(kind failure.Kind, s *study.StoppedError) error {
	resume := "linerate study resume " + s.ID
	onRecord := fmt.Sprintf("%s on record: %s goes on", unit.Count(s.Runs, "run"), resume)
	switch {
	case s.Unkept:
		return failure.Of(kind, "keep the results: %w; the runs are kept, and %s tries again", s.Err, resume)
	case kind == failure.NotRestored:
		return failure.Of(kind, "%w; %s", s.Err, onRecord)
	case kind == failure.Interrupted:
		return failure.Of(kind, "interrupted; everything was put back; %s", onRecord)
	case s.Changed:
		return failure.Of(kind, "%w: runs of before and after cannot be compared: make it again what it was, or %s --anew begins again; everything was put back", s.Err, resume)
	}
	return failure.Of(kind, "%w; everything was put back; %s", s.Err, onRecord)
}
