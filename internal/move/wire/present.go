package wire

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// askedAtOnce small files are asked for together; the scan and the readers go on meanwhile.
const (
	askedAtOnce  = 512
	askedBatches = 4
)

// asking hands small files to their readers, once the target was asked which of them it has.
type asking struct {
	s     *sender
	ctx   context.Context
	busy  *sync.WaitGroup
	small chan<- *move.Entry
	batch []*move.Entry
	to    chan []*move.Entry // nil: nothing is asked
	known chan []*move.Entry // what was asked for: the next question is on its way meanwhile
	done  chan struct{}
}

func (s *sender) asking(ctx context.Context, g *errgroup.Group, busy *sync.WaitGroup, small chan<- *move.Entry) *asking {
	a := &asking{s: s, ctx: ctx, busy: busy, small: small}
	if !s.o.Ask {
		return a
	}
	a.to, a.known, a.done = make(chan []*move.Entry, askedBatches), make(chan []*move.Entry, 1), make(chan struct{})
	g.Go(func() error {
		defer close(a.known)
		for batch := range a.to {
			if err := a.ask(batch); err != nil {
				return err
			}
		}
		return nil
	})
	g.Go(func() error {
		defer close(a.done)
		for batch := range a.known {
			for _, e := range batch {
				if err := a.hand(e); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return a
}

// ask asks for a batch, and notes what is there.
func (a *asking) ask(batch []*move.Entry) error {
	have, err := a.s.Find(a.ctx, batch)
	if err != nil {
		return a.s.gaveUp(a.ctx, err)
	}
	a.s.mu.Lock()
	for i, e := range batch {
		if have[i] == move.Present {
			a.s.present[e] = true
		}
	}
	a.s.mu.Unlock()
	select {
	case a.known <- batch:
		return nil
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	}
}

// gaveUp is why the run ended, where that is why a question has no answer.
func (s *sender) gaveUp(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return s.cause(ctx)
	}
	return err
}

func (a *asking) hand(e *move.Entry) error {
	select {
	case a.small <- e:
		return nil
	case <-a.ctx.Done():
		a.busy.Done()
		return context.Cause(a.ctx)
	}
}

// add takes a small file.
func (a *asking) add(e *move.Entry) error {
	a.busy.Add(1)
	if a.to == nil {
		if a.s.o.Has != nil && a.s.o.Has(e) {
			a.s.mu.Lock()
			a.s.present[e] = true
			a.s.mu.Unlock()
		}
		return a.hand(e)
	}
	if a.batch = append(a.batch, e); len(a.batch) >= askedAtOnce {
		a.flush()
	}
	return a.ctx.Err()
}

// flush has what was taken asked for.
func (a *asking) flush() {
	if len(a.batch) == 0 {
		return
	}
	select {
	case a.to <- a.batch:
	case <-a.ctx.Done(): // nobody waits for them any more
	}
	a.batch = nil
}

// close ends it, once nothing is taken any more.
func (a *asking) close() {
	if a.to != nil {
		close(a.to)
		<-a.done
	}
}

// isPresent takes the note that the target has a file.
func (s *sender) isPresent(e *move.Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := s.present[e]
	delete(s.present, e)
	return is
}

// sendPresent sends the metadata of a file that the target has; done is false if it has changed
// since it was asked for.
func (s *sender) sendPresent(ctx context.Context, e *move.Entry) (done bool, err error) {
	f, err := s.src.Open(ctx, e)
	if err != nil {
		return false, nil // who reads it says so
	}
	now := f.Entry()
	same := now.Size == e.Size && now.Mtime == e.Mtime
	if err := f.Close(); err != nil || !same {
		return false, nil
	}
	m := fileMessage{0, now}.append(nil)
	if len(m) > maxMeta {
		return false, nil
	}
	return true, s.control.send(frame{kind: kindKept, meta: m})
}
