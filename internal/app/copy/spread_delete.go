package copy

import (
	"context"
	"errors"
	"fmt"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/mover"
)

// deleting is what becomes of what the targets hold and no source has.
type deleting struct {
	decided bool
	not     error // why nothing is deleted
}

var errEndFailed = errors.New("an end of the copy has failed")

// decide answers the targets once all of them have said what they hold that no source has: it is
// deleted if every end is well, everything could be read, and all together it is no more than was
// allowed. As soon as that cannot be any more, nothing is deleted anywhere.
func (s *spreading) decide(ctx context.Context) {
	if !s.o.Delete {
		return
	}
	if d := &s.deleting; !d.decided {
		if d.decided, d.not = s.deletes(); !d.decided {
			return
		}
	}
	order := mover.Delete
	if s.deleting.not != nil {
		order = mover.Spare
	}
	for _, e := range s.targets() {
		if e.doomed != nil && !e.answered {
			e.answered = true
			s.order(ctx, e, mover.Command{Order: order})
		}
	}
}

// deletes tells whether it is known by now what becomes of it, and why nothing is deleted, if so.
func (s *spreading) deletes() (known bool, not error) {
	for _, p := range s.pairs {
		if p.over {
			return true, errEndFailed
		}
	}
	n, known := 0, true
	for _, e := range s.ends {
		switch {
		case e.failed || e.out:
			return true, errEndFailed
		case e.source || e.doomed == nil && !e.over:
			known = known && e.over
		case e.doomed == nil:
			return true, fmt.Errorf("%s has not listed what it holds", e.as)
		case e.doomed.Text != "":
			return true, failure.Of(failure.Usage, "%s: %s", e.as, clean(e.doomed.Text))
		case e.doomed.Unread > 0:
			return true, fmt.Errorf("%d entries of the sources could not be read", e.doomed.Unread)
		default:
			n += e.doomed.Count
		}
	}
	if n > s.o.MaxDelete {
		return true, failure.Advise(failure.Of(failure.Usage, "the targets together hold %d entries that no source has, and %d may be deleted; nothing was deleted", n, s.o.MaxDelete), failure.AllowMore)
	}
	return known, nil
}

// undeleted says that nothing was deleted: as an error where it is for the user to ask otherwise,
// else as a loss.
func (s *spreading) undeleted() error {
	not := s.deleting.not
	switch {
	case not == nil:
		return nil
	case failure.KindOf(not) == failure.Usage:
		return not
	}
	s.report.Lose(move.Failed, "", "nothing is deleted: %v", not)
	return nil
}
