package study

import (
	"context"
	"errors"
	"maps"
	"slices"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/study/file"
)

// labOperator makes, in the lab of a study, the changes that a person would make by
// hand on real machines. It implements experiment.Lab.
type labOperator struct{ c *lab.Client }

// operatorOf is the lab of a study's hosts; nil where no level of the study is a
// change that the lab makes.
func operatorOf(env app.Env, f model.StudyFile) (experiment.Lab, error) {
	if !experiment.TakesLab(f) {
		return nil, nil
	}
	c, err := labClient(env, f)
	if err != nil {
		return nil, err
	}
	return labOperator{c}, nil
}

// labClient reaches the lab of a study's hosts: all are of the same.
func labClient(env app.Env, f model.StudyFile) (*lab.Client, error) {
	first := slices.Min(slices.Collect(maps.Values(f.Hosts)))
	n, err := host.ParseName(first)
	if err != nil {
		return nil, failure.Of(failure.Usage, "find the lab of the study: %w", err)
	}
	return env.Reach(nil).Lab(n.Lab)
}

// Make implements experiment.Lab.
func (s labOperator) Make(ctx context.Context, name string, words []string) error {
	_, err := s.c.AddFaultBy(ctx, name, words)
	return err
}

// Made implements experiment.Lab.
func (s labOperator) Made(ctx context.Context) ([]string, error) {
	st, err := s.c.Status(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range st.Faults {
		if f.By != "" {
			out = append(out, f.By)
		}
	}
	return out, nil
}

// TakeBack implements experiment.Lab.
func (s labOperator) TakeBack(ctx context.Context, name string) error {
	st, err := s.c.Status(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range slices.Backward(st.Faults) {
		if f.By == name {
			_, err := s.c.RemoveFault(ctx, f.Number)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkLab finds the levels that the lab of a study cannot make.
func checkLab(ctx context.Context, env app.Env, f model.StudyFile, lines file.Lines) []model.StudyPlanProblem {
	if !experiment.TakesLab(f) {
		return nil
	}
	c, err := labClient(env, f)
	if err != nil {
		return nil // the plan says already that its hosts cannot be reached
	}
	var out []model.StudyPlanProblem
	check := func(factor string, l model.StudyLevel) {
		if !file.ByLab(f, l) {
			return
		}
		if err := c.CheckFault(ctx, l.Lab); err != nil {
			out = append(out, model.StudyPlanProblem{Fatal: true, Line: lines.Level(factor, l.Name),
				What: factor + " " + l.Name + ": the lab cannot make it: " + failure.FirstLine(err), Next: "correct lab: in the words of linerate lab fault add"})
		}
	}
	for _, l := range f.Baseline {
		check(file.StepFactor, l)
	}
	for _, x := range f.Factors {
		for _, l := range x.Levels {
			check(x.Name, l)
		}
	}
	return out
}
