package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"linerate/internal/move"
)

// side is what both ends have: the control stream, and why the run ended.
type side struct {
	rep     *move.Report
	party   Party
	stats   *Stats
	control *Conn
	pool    pool

	mu      sync.Mutex // of over, and of what the end knows of the run's state
	changed *sync.Cond
	over    error
}

// errFinished is the good end.
var errFinished = errors.New("the copy is finished")

// errGone is the end of the control stream without a word.
var errGone = fmt.Errorf("the other end is gone: %w", io.ErrUnexpectedEOF)

// meet opens the control stream.
func (s *side) meet(ctx context.Context) (err error) {
	s.changed = sync.NewCond(&s.mu)
	if s.control, err = s.party.Stream(ctx, 0); err == nil {
		s.stats.add(s.control)
	}
	return err
}

// end notes why the run ended, once.
func (s *side) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = err
	}
	s.changed.Broadcast()
}

func (s *side) isFinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Is(s.over, errFinished)
}

// await waits for a state; s.mu is not held by the caller. Of a run that has ended no state counts.
func (s *side) await(state func() bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.over == nil && !state() {
		s.changed.Wait()
	}
	return s.over
}

// word is the next message of the control stream.
func (s *side) word() (kind, []byte, error) {
	k, meta, _, err := s.control.receive()
	if errors.Is(err, io.EOF) {
		err = errGone
	}
	return k, meta, err
}

// farWhy is the other end's reason for the end of the run.
func farWhy(meta []byte) error {
	text, err := parseText(meta)
	if err != nil {
		return err
	}
	return &farError{text: text}
}
