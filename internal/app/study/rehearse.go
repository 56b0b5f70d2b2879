package study

import (
	"context"
	"errors"
	"fmt"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/load"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/study/file"
)

// rehearse has the hosts that were looked at prepare every workload on files, as
// the study has it and as each level changes it, without running it: so a file that
// is missing is found now and not when the study fails.
func rehearse(ctx context.Context, f model.StudyFile, lines file.Lines, agents map[string]*host.Client) []model.StudyPlanProblem {
	var out []model.StudyPlanProblem
	try := func(name string, line int, w model.StudyWorkload) bool {
		fine := true
		for _, h := range w.Hosts {
			if agents[h] == nil {
				continue // the plan says already that it was not looked at
			}
			err := experiment.Rehearse(ctx, agents[h], w)
			var no *load.RefusedError
			if fine = fine && err == nil; errors.As(err, &no) {
				out = append(out, model.StudyPlanProblem{Fatal: true, Line: line,
					What: fmt.Sprintf("%s: %s cannot do it: %s", name, h, failure.FirstLine(no)),
					Next: "correct the workload, or make what it needs"})
			} else if err != nil {
				out = append(out, model.StudyPlanProblem{Line: line,
					What: fmt.Sprintf("%s: not rehearsed on %s: %s", name, h, failure.FirstLine(err)),
					Next: "see that the host can make this load"})
			}
		}
		return fine
	}
	for _, w := range f.Workloads {
		if !try("workload "+w.Name, lines.Workloads[w.Name], w) {
			continue // its levels would say the same again
		}
		for _, x := range f.Factors {
			for _, l := range x.Levels {
				if to, err := file.Change(w, l.Workload); err == nil && len(l.Workload) > 0 {
					try(x.Name+" "+l.Name, lines.Level(x.Name, l.Name), to)
				}
			}
		}
	}
	return out
}
