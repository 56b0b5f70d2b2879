package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/study"
	"linerate/internal/failure"
	"linerate/internal/report"
)

// maxBudget of a study: longer ones are made of several.
const maxBudget = 14 * 24 * time.Hour

func studyRunCommand(env *environment) *cobra.Command {
	var o study.RunOptions
	var yes bool
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a study: show its plan, ask once, make the runs, undo every change",
		Long: `run makes the study that FILE describes: it reaches the hosts, checks what can be
checked before anything is changed, shows the plan, and asks once. Then it makes the
runs. Before and after each it checks whether the run counts: the same kernel, links up,
no rising errors, no other load on the link or the cores, the treatment in force. A run
that does not count is kept, marked, and repeated.

Ctrl-C is safe: run undoes every change, and linerate study resume continues. A crash of
this program, of an agent or of a host is safe too: each host undoes a treatment by
itself if nobody else does, and resume undoes all other changes before it makes another
run.`,
		Example: `  linerate study run x520.yaml
  linerate study run x520.yaml --budget 2h --yes
  linerate study run x520.yaml --resume 20261121-2015`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkStudyRun(env, o, yes); err != nil {
				return err
			}
			source, err := studySource(args[0])
			if err != nil {
				return err
			}
			o.Source = &source
			o.Command = "study run " + args[0]
			return runStudy(cmd.Context(), env, o, yes)
		},
	}
	f := cmd.Flags()
	durationVar(f, &o.Budget, "budget", 0, "spend no more time than this; it goes where it decides most (default: what the file says)")
	f.BoolVar(&yes, "yes", false, "begin without asking")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of every order that is drawn; 0 draws one, or takes the file's")
	f.StringVar(&o.Resume, "resume", "", "go on with this study, begun by the same file")
	f.BoolVar(&o.Anew, "anew", false, "with --resume: go on although a host is not what it was; what was measured before does not count")
	return cmd
}

func studyResumeCommand(env *environment) *cobra.Command {
	var o study.RunOptions
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Continue an interrupted study, after undoing what it left",
		Long: `resume undoes on every host what the study left there, checks that the hosts are
unchanged since the study began, and makes the missing runs. Only the run that was in
progress at the interruption is lost. ID is an id of linerate study list, the beginning
of one, or last.

If a kernel, a driver or a setting differs from the beginning of the study, resume
refuses: runs before and after cannot be compared. With --anew it begins again; the
earlier runs are kept and do not count.`,
		Example: "  linerate study resume last\n  linerate study resume 20261121-2015 --budget 1h",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Resume = args[0]
			if err := checkStudyRun(env, o, true); err != nil {
				return err
			}
			return runStudy(cmd.Context(), env, o, true)
		},
	}
	durationVar(cmd.Flags(), &o.Budget, "budget", 0, "spend no more time than this in all (default: what the study was begun with)")
	cmd.Flags().BoolVar(&o.Anew, "anew", false, "go on although a host is not what it was; what was measured before does not count")
	return cmd
}

// checkStudyRun checks the flags of study run and study resume.
func checkStudyRun(env *environment, o study.RunOptions, yes bool) error {
	switch {
	case o.Budget < 0 || o.Budget > maxBudget:
		return failure.Of(failure.Usage, "--budget %s: choose up to %s", o.Budget, maxBudget)
	case o.Anew && o.Resume == "":
		return failure.Of(failure.Usage, "--anew goes with --resume ID")
	case !yes && o.Resume == "" && !asksHere(env):
		return failure.Of(failure.Usage, "a study changes settings of its hosts, puts load on them, and asks before: run it on a terminal, or begin with --yes; linerate study plan FILE shows what it would do")
	}
	return nil
}

func runStudy(ctx context.Context, env *environment, o study.RunOptions, yes bool) error {
	p := newProgress(env)
	defer p.End()
	user := study.User{
		Agree: func(plan study.Plan) error { return agreeToStudy(env, plan, yes) },
		Begun: func(id string) { p.Say("study %s: linerate study resume %s goes on if this is interrupted", id, id) },
	}
	if asksHere(env) {
		user.Operator = &terminalOperator{env, p}
	}
	r, err := study.Run(ctx, env.Env, p, o, user)
	switch {
	case err != nil:
		return studyError(err)
	case env.json:
		return printJSON(env, r.Study)
	}
	return report.Text(env.out, r, env.color, env.width)
}

// agreeToStudy shows the plan and asks whether to begin.
func agreeToStudy(env *environment, plan study.Plan, yes bool) error {
	aside := *env // stdout is for the results alone
	aside.out = env.err
	if err := printStudyPlan(&aside, plan); err != nil {
		return err
	}
	if err := refusedPlan(plan); err != nil || yes {
		return err
	}
	_ = env.err.Printf("Begin? [y/N] ") // unread, it is answered all the same
	answer, err := bufio.NewReader(env.in).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return failure.Of(failure.Nothing, "nothing was begun")
	}
	return nil
}

// terminalOperator asks whoever sits at the terminal.
type terminalOperator struct {
	env *environment
	p   *progress
}

// Do implements experiment.Operator.
func (t *terminalOperator) Do(ctx context.Context, instruct string) (bool, error) {
	t.p.End()
	t.env.err.Printf("\n%s\nPress Enter when that is done, or type skip and Enter to leave it out: ", instruct)
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := bufio.NewReader(t.env.in).ReadString('\n')
		got <- answer{text, err}
	}()
	select {
	case a := <-got:
		if a.err != nil {
			return false, fmt.Errorf("ask the operator: %w", a.err)
		}
		return !strings.EqualFold(strings.TrimSpace(a.text), "skip"), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
