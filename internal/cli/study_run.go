package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

type studyOptions struct {
	budget time.Duration
	yes    bool
	seed   uint64
	resume string
	anew   bool
}

// maxBudget of a study: longer ones are made of several.
const maxBudget = 14 * 24 * time.Hour

func studyRunCommand(env *environment) *cobra.Command {
	var o studyOptions
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Make a study: show its plan, ask once, run it, put everything back",
		Long: `run makes the study that FILE describes: it reaches the hosts, checks what can be
checked before anything is changed, shows the plan, and asks once. Then it makes the
runs. Around each it looks whether the run can count: the same kernel, links up, no
errors rising, nobody else on the link or the cores, a treatment that is in force. A
run that cannot count is kept, marked, and made again.

Ctrl-C is safe: everything is put back, and linerate study resume goes on. So is a
crash of this program, of an agent or of a host: each host undoes a treatment by
itself when nobody does, and resume puts back what else was changed before it makes
another run.`,
		Example: `  linerate study run x520.yaml
  linerate study run x520.yaml --budget 2h --yes
  linerate study run x520.yaml --resume 20261121-2015`,
		Args: usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return runStudy(cmd.Context(), env, o, args[0]) },
	}
	f := cmd.Flags()
	f.DurationVar(&o.budget, "budget", 0, "spend no more time than this; it goes where it decides most (default: what the file says)")
	f.BoolVar(&o.yes, "yes", false, "begin without asking")
	f.Uint64Var(&o.seed, "seed", 0, "seed of every order that is drawn; 0 draws one, or takes the file's")
	f.StringVar(&o.resume, "resume", "", "go on with this study, begun by the same file")
	f.BoolVar(&o.anew, "anew", false, "with --resume: go on although a host is not what it was; what was measured before does not count")
	return cmd
}

func studyResumeCommand(env *environment) *cobra.Command {
	var o studyOptions
	cmd := &cobra.Command{
		Use:   "resume ID",
		Short: "Go on with a study that was interrupted, having put back what it left",
		Long: `resume undoes on every host what the study left there, sees whether the hosts are
what they were, and makes the runs that are missing: the one that was under way when
it was interrupted is lost, no other. ID is one of linerate study list, the beginning
of one, or last.

Where a kernel, a driver or a setting is another than when the study was begun, it
refuses: runs of before and after cannot be compared. With --anew it begins again,
and what was measured before is kept and does not count.`,
		Example: "  linerate study resume last\n  linerate study resume 20261121-2015 --budget 1h",
		Args:    usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.resume, o.yes = args[0], true
			return runStudy(cmd.Context(), env, o, "")
		},
	}
	cmd.Flags().DurationVar(&o.budget, "budget", 0, "spend no more time than this in all (default: what the study was begun with)")
	cmd.Flags().BoolVar(&o.anew, "anew", false, "go on although a host is not what it was; what was measured before does not count")
	return cmd
}

// studyAtWork is a study with all that this command has of it.
type studyAtWork struct {
	env    *environment
	file   model.StudyFile
	raw    []byte
	state  *store.StudyState
	past   *store.StudyPast
	drive  *drive.Drive
	hosts  *studyHosts
	p      *progress
	begun  time.Time
	before map[string]string // conclusions that were told
}

func runStudy(ctx context.Context, env *environment, o studyOptions, path string) error {
	if err := o.check(env); err != nil {
		return err
	}
	root, err := store.DataDir(env.Getenv)
	if err != nil {
		return err
	}
	s := &studyAtWork{env: env, begun: env.Now(), before: map[string]string{}}
	if path != "" {
		if err := s.read(o, path); err != nil {
			return err
		}
	}
	if o.resume != "" {
		if err := s.takeUp(root, o); err != nil {
			return err
		}
		defer func() { _ = s.state.Close() }() // what matters is synced with each entry
	}
	s.p = newProgress(env)
	defer s.p.End()
	s.hosts = &studyHosts{env: env, p: s.p, file: s.file, agents: map[string]*host.Client{}}
	if s.past == nil {
		if err := s.agree(ctx, o); err != nil {
			return err
		}
		command := "study run " + path
		if s.state, err = store.CreateStudy(root, store.StudyBegin{File: s.file, Command: command, Build: env.Build}, s.raw, env.Now()); err != nil {
			return err
		}
		defer func() { _ = s.state.Close() }() // as above
	}
	return s.work(ctx, o, root)
}

func (o studyOptions) check(env *environment) error {
	switch {
	case o.budget < 0 || o.budget > maxBudget:
		return failure.Of(failure.Usage, "--budget %s: choose up to %s", o.budget, maxBudget)
	case o.anew && o.resume == "":
		return failure.Of(failure.Usage, "--anew goes with --resume ID")
	case !o.yes && o.resume == "" && !asksHere(env):
		return failure.Of(failure.Usage, "a study changes settings of its hosts, puts load on them, and asks before: run it on a terminal, or begin with --yes; linerate study plan FILE shows what it would do")
	}
	return nil
}

// read reads the study file, with what the command line says otherwise.
func (s *studyAtWork) read(o studyOptions, path string) error {
	var err error
	if s.file, s.raw, err = readStudyFile(path, o.budget); err != nil {
		return err
	}
	if o.seed != 0 {
		s.file.Protocol.Seed = o.seed
	}
	if s.file.Protocol.Seed == 0 {
		if s.file.Protocol.Seed, err = app.Seed(); err != nil {
			return err
		}
	}
	return nil
}

// agree shows the plan and asks whether to begin.
func (s *studyAtWork) agree(ctx context.Context, o studyOptions) error {
	plan, trimmed, err := planStudy(ctx, s.env, s.file, s.raw, planOptions{budget: o.budget}, drive.DefaultNoise, "assumed; nothing was measured yet")
	if err != nil {
		return err
	}
	s.file, s.hosts.file = trimmed, trimmed
	aside := *s.env // stdout is for the answer alone
	aside.out = s.env.err
	s.p.End()
	if err := printStudyPlan(&aside, s.file, plan); err != nil {
		return err
	}
	if err := refusedPlan(plan); err != nil || o.yes {
		return err
	}
	if !saysYes(s.env, "Begin?") {
		return failure.Of(failure.Nothing, "nothing was begun")
	}
	return nil
}

// takeUp opens a study that is on disk. Given with a file, it has to be that one's.
func (s *studyAtWork) takeUp(root string, o studyOptions) error {
	state, past, err := store.ResumeStudy(root, o.resume)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return failure.Of(failure.Usage, "%w", err)
	case err != nil:
		return err
	}
	s.state, s.past, s.begun = state, past, past.Begun
	if end := past.Finished(); end != nil {
		_ = state.Close() // only read
		return failure.Of(failure.Nothing, "study %s is over: linerate study show %s shows what it found", past.ID, end.Bundle)
	}
	if s.raw != nil && string(s.raw) != string(past.Raw) {
		_ = state.Close() // only read
		return failure.Of(failure.Usage, "study %s was begun by another file: its copy is %s/study.yaml; linerate study resume %s goes on by that", past.ID, state.Dir(), past.ID)
	}
	s.file, s.raw = past.Begin.File, past.Raw
	if o.budget > 0 {
		s.file.Budget = o.budget
	}
	return nil
}

// work makes the runs, and keeps what came out.
func (s *studyAtWork) work(ctx context.Context, o studyOptions, root string) error {
	var err error
	if s.drive, err = drive.New(s.file); err != nil {
		return err
	}
	x := &experiment.Experiment{
		ID: s.state.ID(), File: s.file, Hosts: s.hosts.all(), Director: s.drive, Record: s.state, Route: s.hosts.route,
		Now: s.env.Now, Say: func(what string) { s.p.Say("%s", what) }, After: s.after, Past: s.past, Anew: o.anew,
	}
	if x.Lab, err = labOfStudy(s.env, s.file); err != nil {
		return err
	}
	if asksHere(s.env) {
		x.Operator = &terminalOperator{s.env, s.p}
	}
	if s.past != nil {
		if err := s.state.Put(store.StudyEntry{Kind: store.StudyResumed, At: s.env.Now()}); err != nil {
			return err
		}
	}
	s.p.Say("study %s: linerate study resume %s goes on if this is interrupted", s.state.ID(), s.state.ID())
	out, err := x.Run(ctx)
	s.p.End()
	return s.conclude(root, out, err, ctx.Err() != nil)
}

// after tells what is known so far, when that changes.
func (s *studyAtWork) after(r model.StudyRun) {
	// Only a planned look can say something new, and to look costs time of the CPU.
	if !r.Counted || s.file.Protocol.Name == file.Linerate && !slices.Contains(s.file.Protocol.Looks, r.Block) {
		return
	}
	all, err := s.drive.Comparisons()
	if err != nil {
		return // the end says so
	}
	for _, c := range all {
		key := c.Factor + " " + c.Level + " on " + c.Workload
		if c.N == 0 || c.Conclusion == s.before[key] {
			continue
		}
		s.before[key] = c.Conclusion
		if c.Conclusion != model.StudyUndecided {
			s.p.Say("so far: %s: %s%s", key, c.Conclusion, ratioText(c))
		}
	}
}

// ratioText words an effect with its interval.
func ratioText(c model.StudyComparison) string {
	if c.Ratio == nil {
		return ""
	}
	text := fmt.Sprintf(", ×%.3f", *c.Ratio)
	if c.CILow != nil && c.CIHigh != nil {
		text += fmt.Sprintf(" (%.3f to %.3f)", *c.CILow, *c.CIHigh)
	}
	return text
}

// terminalOperator asks whoever sits at the terminal.
type terminalOperator struct {
	env *environment
	p   *progress
}

// Do implements experiment.Operator.
func (t *terminalOperator) Do(ctx context.Context, instruct string) (bool, error) {
	t.p.End()
	fmt.Fprintf(t.env.err, "\n%s\nPress Enter when that is done, or type skip and Enter to leave it out: ", instruct)
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
