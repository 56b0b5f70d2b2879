package file

import (
	"fmt"
	"slices"

	"linerate/internal/model"
)

// LeaveOut takes those levels out of the study whose every value is in force already, as read from
// the hosts, notes them in File.LeftOut, and returns them. A template sets what most hosts have set
// otherwise; where a host has it already there is nothing to compare. If no level would be left it
// takes none out, and Problems refuses the study.
func (c *Checker) LeaveOut() []model.StudyPlanProblem {
	var out []model.StudyPlanProblem
	var factors, left []model.StudyFactor
	for _, f := range c.File.Factors {
		gone := f
		gone.Levels = nil
		kept := slices.DeleteFunc(slices.Clone(f.Levels), func(l model.StudyLevel) bool {
			so := len(l.Set) > 0 && !slices.ContainsFunc(l.Set, func(s model.StudySetting) bool { return !c.alreadySo(s) })
			if so {
				gone.Levels = append(gone.Levels, l)
				out = append(out, model.StudyPlanProblem{Line: c.Lines.Level(f.Name, l.Name), What: fmt.Sprintf("%s %s: left out, since every value of it is in force already", f.Name, l.Name),
					Next: "give it another value to have it compared"})
			}
			return so
		})
		if len(gone.Levels) > 0 {
			left = append(left, gone)
		}
		if len(kept) > 0 {
			f.Levels = kept
			factors = append(factors, f)
		}
	}
	if len(out) == 0 || len(factors) == 0 {
		return nil
	}
	c.File.Factors, c.File.LeftOut = factors, left
	return out
}
