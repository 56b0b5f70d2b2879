package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

// planOptions are the flags of study plan.
type planOptions struct {
	offline bool
	noise   string
	budget  time.Duration
}

func studyPlanCommand(env *environment) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Say what a study would run and change, how long, and the smallest effect it could see",
		Long: `plan reads a study file, looks at its hosts where they can be reached, and says
which cases are run in which order, what is changed where, how long that takes,
and the smallest effect that each planned look would see. It changes nothing and
puts no load on anything. Exit code 2: the study would be refused, and why.`,
		Args: usage(cobra.ExactArgs(1)),
		Example: `  linerate study plan x520.yaml
  linerate study plan x520.yaml --offline --noise 5%     without looking at the hosts; for a noisier path
  linerate study plan x520.yaml --budget 30m --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f, text, err := readStudyFile(args[0], o.budget)
			if err != nil {
				return err
			}
			noise, from, err := o.noiseOf()
			if err != nil {
				return err
			}
			p, f, err := planStudy(cmd.Context(), env, f, text, o, noise, from)
			if err != nil {
				return err
			}
			if env.json {
				err = printJSON(env, p)
			} else {
				err = printStudyPlan(env, f, p)
			}
			if err != nil {
				return err
			}
			return refusedPlan(p)
		},
	}
	cmd.Flags().BoolVar(&o.offline, "offline", false, "look at no host: judge the file alone")
	cmd.Flags().StringVar(&o.noise, "noise", "", "what single runs vary by (relative standard deviation), e.g. 2%; an A/A study measures it (default 2%)")
	cmd.Flags().DurationVar(&o.budget, "budget", 0, "time for all runs, instead of the file's")
	return cmd
}

// refusedPlan is the error of a plan that study run would not begin.
func refusedPlan(p model.StudyPlan) error {
	n := 0
	for _, x := range p.Problems {
		if x.Fatal {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return failure.Of(failure.Usage, "study %s would be refused for %d of its problems; they stand at the end of the plan", p.Name, n)
}

func (o planOptions) noiseOf() (noise float64, from string, err error) {
	if o.noise == "" {
		return drive.DefaultNoise, "assumed; --noise, or an A/A study (linerate study new is-it-noise)", nil
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(o.noise, "%"), 64)
	if strings.HasSuffix(o.noise, "%") {
		x /= 100
	}
	if err != nil || !(x > 0 && x < 1) {
		return 0, "", failure.Of(failure.Usage, "--noise %q: want a share of the rate, such as 2%% or 0.02", o.noise)
	}
	return x, "--noise", nil
}

// planStudy is the plan, checked against the hosts that can be reached, and the
// study without what is in force on them already. text is the file's.
func planStudy(ctx context.Context, env *environment, f model.StudyFile, text []byte, o planOptions, noise float64, from string) (model.StudyPlan, model.StudyFile, error) {
	c := file.NewChecker(f, map[string]*model.Facts{})
	c.Lines = file.LinesOf(text)
	var seen []model.StudyPlanProblem
	if !o.offline {
		unreached, done := lookForStudy(ctx, env, f, c)
		defer done()
		seen = append(unreached, c.LeaveOut()...)
	}
	p, err := drive.Outline(c.File, noise, from)
	if err != nil {
		return p, f, err
	}
	for i := range p.Problems {
		if o.budget == 0 && strings.HasPrefix(p.Problems[i].What, "the budget") { // and no flag's
			p.Problems[i].Line = c.Lines.Budget
		}
	}
	p.Problems = append(p.Problems, seen...)
	for name := range c.Facts {
		p.Looked = append(p.Looked, name)
	}
	slices.Sort(p.Looked)
	p.Problems = append(p.Problems, c.Problems()...)
	p.Changes = c.Changes()
	slices.SortStableFunc(p.Problems, func(a, b model.StudyPlanProblem) int {
		switch {
		case a.Fatal == b.Fatal:
			return 0
		case a.Fatal:
			return -1
		}
		return 1
	})
	return p, c.File, nil
}

// seenHost is a host of a study that was looked at, or why it was not.
type seenHost struct {
	name  string
	agent *host.Client
	facts *model.Facts
	err   error
}

// lookForStudy looks at all hosts of a study at once and reads what the check
// asks for. A host that cannot be reached is a problem to tell, not an error.
func lookForStudy(ctx context.Context, env *environment, f model.StudyFile, c *file.Checker) (problems []model.StudyPlanProblem, done func()) {
	progress := newProgress(env)
	seen := make([]seenHost, 0, len(f.Hosts))
	for name := range f.Hosts {
		seen = append(seen, seenHost{name: name})
	}
	slices.SortFunc(seen, func(a, b seenHost) int { return strings.Compare(a.name, b.name) })
	var wait sync.WaitGroup
	for i := range seen {
		wait.Go(func() { seen[i].look(ctx, env, f.Hosts[seen[i].name], progress) })
	}
	wait.Wait()
	progress.End()
	done = func() {
		for _, s := range seen {
			if s.agent != nil {
				_ = s.agent.Close() // it has told what we want to know
			}
		}
	}
	agents := map[string]*host.Client{}
	for _, s := range seen {
		if s.err != nil {
			problems = append(problems, model.StudyPlanProblem{
				Line: c.Lines.Hosts[s.name], What: fmt.Sprintf("%s was not looked at: %s", s.name, firstLine(s.err)), Next: "see that it can be reached; nothing of the plan was checked against it",
			})
			continue
		}
		c.Facts[s.name], agents[s.name] = s.facts, s.agent
	}
	for _, a := range c.Asks() {
		// What cannot be read is not known: the check says what follows.
		if v, err := agents[a.Host].ReadSetting(ctx, a.Setting, a.Target, a.Like); err != nil {
			c.Unread[a] = firstLine(err)
		} else {
			c.Now[a] = v
		}
	}
	problems = append(problems, rehearseStudy(ctx, f, c.Lines, agents)...)
	return append(problems, checkStudyLab(ctx, env, f, c.Lines)...), done
}

func (s *seenHost) look(ctx context.Context, env *environment, at string, p *progress) {
	ctx, cancel := context.WithTimeout(ctx, reach.Within)
	defer cancel()
	name, err := host.ParseName(at)
	if err == nil && name.Path != "" {
		err = fmt.Errorf("%s: name a host without a path", at)
	}
	if err == nil {
		s.agent, err = env.Reach(p).Dial(ctx, name)
	}
	if err == nil {
		s.facts, err = s.agent.Facts(ctx)
	}
	s.err = err
}
