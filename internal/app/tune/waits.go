package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/failure"
)

// stillWaits asks each host whether what waits to be confirmed waits still: a host that was slow,
// or stopped, may have undone it by the time that its answer is told. The error then says what
// is so; the notes are of what somebody else confirmed, and of hosts that do not tell.
func (a *application) stillWaits(ctx context.Context) (notes []string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	stays := slices.ContainsFunc(a.made, func(m madePlan) bool { return !m.waits })
	for i, m := range a.made {
		if !m.waits {
			continue
		}
		w, waits, err := m.agent.Waiting(ctx)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("Whether %s still waits on %s could not be asked: %v", m.id, m.name, err))
		case waits && w.Plan == m.id && !w.Overdue:
		case waits && w.Plan == m.id:
			err := failure.Of(failure.NotRestored, "the time to confirm %s on %s was over before it could be reported: the host undoes it now", m.id, m.name)
			return nil, failure.Advise(failure.Advise(err, failure.WaitLonger), failure.SeeHistory, m.name)
		default:
			if err := m.gone(ctx, stays); err != nil {
				return nil, err
			}
			a.made[i].waits = false
			notes = append(notes, fmt.Sprintf("%s waits no more on %s: somebody has confirmed it", m.id, m.name))
		}
	}
	if !slices.ContainsFunc(a.made, func(m madePlan) bool { return m.waits }) {
		a.deadline = time.Time{}
	}
	return notes, nil
}

// gone says what became of a plan that waits no more; nil where it is in force.
func (m madePlan) gone(ctx context.Context, stays bool) error {
	open, err := m.agent.OpenJournal(ctx)
	if err != nil {
		return failure.Advise(failure.Of(failure.NotRestored, "%s waits no more on %s, and its journal cannot be read: %w", m.id, m.name, err), failure.SeeHistory, m.name)
	}
	var left []string
	for _, e := range open {
		if e.Plan == m.id {
			left = append(left, e.Setting)
		}
	}
	late := fmt.Sprintf("the time to confirm %s on %s was over before it could be reported", m.id, m.name)
	switch {
	case len(left) > 0 && len(left) == m.changes:
		return nil
	case len(left) > 0:
		return failure.Advise(failure.Of(failure.NotRestored, "%s, and the host could not undo all of it; still changed: %s", late, strings.Join(left, ", ")), failure.PutBack, m.name)
	case stays:
		return failure.Advise(failure.Of(failure.NotRestored, "%s: the host undid it; the larger MTU, confirmed before, stays", late), failure.PutBackOne, m.name)
	}
	return failure.Advise(failure.Of(failure.Failed, "%s: the host undid it, and nothing is changed", late), failure.WaitLonger)
}
