package share

import (
	"context"
	"errors"
	"math/bits"

	"linerate/internal/move"
)

// Look is what a source is gone through for, where the targets get nothing: an entry goes to the
// targets that have something of its name, to be compared there, or to be said what a copy would
// do with it.
type Look struct {
	// Plan: as a copy would do it, which brings a further name of an inode to its first one. Else
	// an entry goes to every target that has its name.
	Plan bool
	// Found hears of every entry which targets have something of its name, ascending. A plan is
	// told only of those that no target has.
	Found func(e *move.Entry, at []int) error
}

// errUnknown is the end of a look: what a target has that does not answer is not known.
var errUnknown = errors.New("a target does not answer, so that nothing is known of what it has")

// Examine looks what n targets have of src.
func Examine(src move.Source, n int, rep *move.Report, look Look) *Source {
	s := Divide(src, make([]bool, n), 0, rep)
	s.look, s.seen = &look, map[string]uint64{}
	return s
}

func (l *Look) plans() bool { return l != nil && l.Plan }

// allThere tells whether every target answers.
func (s *Source) allThere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		if p.gone {
			return false
		}
	}
	return true
}

// show has the targets that have something of an entry's name look at it.
func (s *Source) show(ctx context.Context, x item, have [][]move.Presence, at int) error {
	var where []int
	var set uint64
	for i := range s.parts {
		if have[i][at] != move.Absent {
			where, set = append(where, i), set|1<<i
		}
	}
	first := s.seen[x.e.First]
	if s.look.Plan && x.e.Linked { // it follows its first name
		where, set = nil, 0
		if first != 0 {
			where = []int{bits.TrailingZeros64(first)}
		}
	}
	if !x.e.Linked && x.e.Links > 1 && x.e.Kind != move.Directory && set != 0 {
		s.seen[x.e.Path] = set
	}
	if !s.look.Plan || len(where) == 0 {
		if err := s.look.Found(x.e, where); err != nil {
			return err
		}
	}
	for _, i := range where {
		to := x
		if x.e.Linked && first&(1<<i) == 0 {
			to.e = s.unlinked(x.e)
		}
		if err := s.push(ctx, to, s.parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// unlinked is a further name at a target that lacks its first one: it is a file of its own there.
func (s *Source) unlinked(e *move.Entry) *move.Entry {
	own := *e
	s.rep.Lose(move.LostLink, e.Path, "its first name %s is not at the same target", move.Quote(e.First))
	own.Linked, own.First = false, ""
	return &own
}
