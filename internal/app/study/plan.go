package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/study/drive"
	"linerate/internal/study/file"
)

// Source is the file of a study.
type Source struct {
	Name string
	Text []byte
}

// read checks the file. A budget that is not 0 stands above the file's.
func (s Source) read(budget time.Duration) (model.StudyFile, error) {
	f, err := file.Parse(s.Name, s.Text)
	if err != nil {
		return model.StudyFile{}, failure.As(failure.Usage, err)
	}
	f.Budget = cmp.Or(budget, f.Budget)
	return f, nil
}

// PlanOptions says how a study is planned.
type PlanOptions struct {
	Offline   bool          // look at no host: judge the file alone
	Budget    time.Duration // for all runs; 0: the file's
	Noise     float64       // relative standard deviation of single runs; 0: the default
	NoiseFrom string        // how that is known
}

// Plan is what a study would run and change, and the study without what is in force
// on its hosts already.
type Plan struct {
	model.StudyPlan
	File model.StudyFile
}

// Fatal counts the problems for which the study would be refused.
func (p Plan) Fatal() int {
	n := 0
	for _, x := range p.Problems {
		if x.Fatal {
			n++
		}
	}
	return n
}

// MakePlan reads the file of a study and plans it, checked against those of its
// hosts that can be reached. It changes nothing and puts no load on anything.
func MakePlan(ctx context.Context, e app.Env, p app.Progress, s Source, o PlanOptions) (Plan, error) {
	f, err := s.read(o.Budget)
	if err != nil {
		return Plan{}, err
	}
	return plan(ctx, e, p, f, s.Text, o)
}

// plan plans a study whose file has the text.
func plan(ctx context.Context, e app.Env, p app.Progress, f model.StudyFile, text []byte, o PlanOptions) (Plan, error) {
	c := file.NewChecker(f, map[string]*model.Facts{})
	c.Lines = file.LinesOf(text)
	var seen []model.StudyPlanProblem
	if !o.Offline {
		unreached, done := look(ctx, e, p, f, c)
		defer done()
		seen = append(unreached, c.LeaveOut()...)
	}
	out, err := drive.Outline(c.File, cmp.Or(o.Noise, drive.DefaultNoise), o.NoiseFrom)
	if err != nil {
		return Plan{}, err
	}
	for i := range out.Problems {
		if o.Budget == 0 && strings.HasPrefix(out.Problems[i].What, "the budget") { // the file states it
			out.Problems[i].Line = c.Lines.Budget
		}
	}
	out.Looked = append(out.Looked, slices.Sorted(maps.Keys(c.Facts))...)
	out.Problems = append(append(out.Problems, seen...), c.Problems()...)
	out.Changes = c.Changes()
	slices.SortStableFunc(out.Problems, func(a, b model.StudyPlanProblem) int {
		switch {
		case a.Fatal == b.Fatal:
			return 0
		case a.Fatal:
			return -1
		}
		return 1
	})
	return Plan{out, c.File}, nil
}

// seenHost is a host of a study that was looked at, or why it was not.
type seenHost struct {
	name  string
	agent *host.Client
	facts *model.Facts
	err   error
}

// look looks at all hosts of a study at once and reads what the check asks for. A
// host that cannot be reached is a problem of the plan, not an error.
func look(ctx context.Context, e app.Env, p app.Progress, f model.StudyFile, c *file.Checker) (problems []model.StudyPlanProblem, done func()) {
	var seen []seenHost
	for _, name := range slices.Sorted(maps.Keys(f.Hosts)) {
		seen = append(seen, seenHost{name: name})
	}
	var wait sync.WaitGroup
	for i := range seen {
		wait.Go(func() { seen[i].look(ctx, e.Reach(p), f.Hosts[seen[i].name]) })
	}
	wait.Wait()
	p.End()
	done = func() {
		for _, s := range seen {
			if s.agent != nil {
				_ = s.agent.Close() // all that was asked of it is known
			}
		}
	}
	agents := map[string]*host.Client{}
	for _, s := range seen {
		if s.err != nil {
			problems = append(problems, model.StudyPlanProblem{
				Line: c.Lines.Hosts[s.name],
				What: fmt.Sprintf("%s was not looked at: %s", s.name, failure.FirstLine(s.err)),
				Next: "see that it can be reached; nothing of the plan was checked against it",
			})
			continue
		}
		c.Facts[s.name] = s.facts
		agents[s.name] = s.agent
	}
	for _, a := range c.Asks() {
		// A value that cannot be read stays unknown: the check says what follows.
		if v, err := agents[a.Host].ReadSetting(ctx, a.Setting, a.Target, a.Like); err != nil {
			c.Unread[a] = failure.FirstLine(err)
		} else {
			c.Now[a] = v
		}
	}
	problems = append(problems, rehearse(ctx, f, c.Lines, agents)...)
	return append(problems, checkLab(ctx, e, f, c.Lines)...), done
}

func (s *seenHost) look(ctx context.Context, d reach.Dialler, at string) {
	ctx, cancel := context.WithTimeout(ctx, reach.Within)
	defer cancel()
	name, err := host.ParseName(at)
	if err == nil && name.Path != "" {
		err = errors.New(at + ": name a host without a path")
	}
	if err == nil {
		s.agent, err = d.Dial(ctx, name)
	}
	if err == nil {
		s.facts, err = s.agent.Facts(ctx)
	}
	s.err = err
}
