package cli

import (
	"context"
	"errors"
	"maps"
	"slices"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/study/file"
)

// studyLab has the lab of a study do what an operator's hands would do elsewhere.
type studyLab struct{ c *lab.Client }

// labOfStudy is the lab that a study's hosts are of; nil where it makes nothing of
// the study.
func labOfStudy(env *environment, f model.StudyFile) (experiment.Lab, error) {
	if !experiment.TakesLab(f) {
		return nil, nil
	}
	c, err := labClient(env, f)
	if err != nil {
		return nil, err
	}
	return studyLab{c}, nil
}

// labClient reaches the lab of the first of a study's hosts: all are of the same.
func labClient(env *environment, f model.StudyFile) (*lab.Client, error) {
	first := slices.Min(slices.Collect(maps.Values(f.Hosts)))
	n, err := host.ParseName(first)
	if err != nil {
		return nil, failure.Of(failure.Usage, "find the lab of the study: %w", err)
	}
	return env.Reach(nil).Lab(n.Lab)
}

// Make implements experiment.Lab.
func (s studyLab) Make(ctx context.Context, name string, words []string) error {
	_, err := s.c.AddFaultBy(ctx, name, words)
	return err
}

// Made implements experiment.Lab.
func (s studyLab) Made(ctx context.Context) ([]string, error) {
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
func (s studyLab) TakeBack(ctx context.Context, name string) error {
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

// checkStudyLab finds what the lab of a study cannot make of it.
func checkStudyLab(ctx context.Context, env *environment, f model.StudyFile, lines file.Lines) []model.StudyPlanProblem {
	if !experiment.TakesLab(f) {
		return nil
	}
	c, err := labClient(env, f)
	if err != nil {
		return nil // that its hosts cannot be reached is said
	}
	var out []model.StudyPlanProblem
	check := func(factor string, l model.StudyLevel) {
		if !file.ByLab(f, l) {
			return
		}
		if err := c.CheckFault(ctx, l.Lab); err != nil {
			out = append(out, model.StudyPlanProblem{Fatal: true, Line: lines.Levels[[2]string{factor, l.Name}],
				What: factor + " " + l.Name + ": the lab cannot make it: " + firstLine(err), Next: "correct lab: in the words of linerate lab fault add"})
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
