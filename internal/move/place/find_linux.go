package place

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// Find implements move.Finder, by the decisions of a copy.
func (p *Place) Find(ctx context.Context, entries []*move.Entry) ([]move.Presence, error) {
	out := make([]move.Presence, len(entries))
	for i, e := range entries {
		if err := errors.Join(ctx.Err(), e.Check()); err != nil {
			return nil, err
		}
		var err error
		if out[i], err = p.find(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *Place) find(e *move.Entry) (move.Presence, error) {
	if p.journal != nil && p.journal.knows(e.Path) {
		return move.Differs, nil
	}
	a, err := p.Decide(e)
	var folded *CollisionError
	switch {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return move.Absent, nil
	case errors.As(err, &folded) || errors.Is(err, errJournalName):
		return move.Absent, nil // it is refused when it is to be written
	case errors.Is(err, move.ErrSink) || errors.Is(err, unix.EIO):
		return move.Absent, err
	case err != nil:
		return move.Differs, nil // it stands here, and fails here by name
	case a == New:
		return move.Absent, nil
	case a == Same:
		return move.Present, nil
	}
	return move.Differs, nil
}
