package experiment

import (
	"context"
	"fmt"

	"linerate/internal/model"
)

// longestCopy is how many times the time that the file says a copy may take.
const longestCopy = 20

// measureCopy makes one run of a workload that copies a tree.
func (x *Experiment) measureCopy(ctx context.Context, label string, w model.StudyWorkload) (*work, error) {
	m := &work{kind: w.Kind, pairs: x.pairs(w), links: map[*Host]*model.NIC{}}
	if len(m.pairs) != 1 || x.Copy == nil {
		return nil, fmt.Errorf("run %s: it has no pair of a sender and a receiver", w.Name)
	}
	p := m.pairs[0]
	from, to, err := x.route(ctx, p)
	if err != nil {
		return nil, err
	}
	m.links[p.from], m.links[p.to] = nicAt(p.from.last, from), nicAt(p.to.last, to)
	most := longestCopy * w.Duration
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("the copy of %s was not done after %v: give its workload more seconds", w.Name, most))
	defer cancel()
	run, err := x.Copy(ctx, label, w, p.from, p.to, from, to)
	m.runs = []model.Run{run}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, cause
	}
	return m, err
}
