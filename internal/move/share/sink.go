package share

import (
	"context"
	"errors"
	"sync"

	"linerate/internal/move"
)

// Sink is a sink that several sources write to at once.
type Sink struct {
	sink move.Sink

	mu      sync.Mutex
	left    int // sessions that have neither finished nor gone
	waiting int // sessions that have finished
	done    chan struct{}
	err     error // of Finish; read only after done
}

// Gather lets n sources write to a sink, each by a Session of its own.
func Gather(sink move.Sink, n int) *Sink {
	return &Sink{sink: sink, left: n, done: make(chan struct{})}
}

// Session is a move.Sink: what one source sees of the target.
type Session struct {
	move.Sink
	of      *Sink
	arrived bool // guarded by of.mu
}

// Session is for the next source.
func (s *Sink) Session() *Session { return &Session{Sink: s.sink, of: s} }

// Finish implements move.Sink: the sink is finished once every source has finished or is gone.
func (s *Session) Finish(ctx context.Context) error {
	s.arrive(ctx, true)
	select {
	case <-s.of.done:
		return s.of.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Gone tells that a source has ended. Where it did so before Finish, the others go on without
// it; where none of them has finished, nothing is.
func (s *Session) Gone(ctx context.Context) { s.arrive(ctx, false) }

// arrive finishes the sink where this was the last session.
func (s *Session) arrive(ctx context.Context, finished bool) {
	g := s.of
	g.mu.Lock()
	if s.arrived {
		g.mu.Unlock()
		return
	}
	s.arrived = true
	g.left--
	if finished {
		g.waiting++
	}
	last := g.left == 0 && g.waiting > 0
	g.mu.Unlock()
	if last {
		g.err = g.sink.Finish(ctx)
		close(g.done)
	}
}

// Find implements move.Finder.
func (s *Session) Find(ctx context.Context, entries []*move.Entry) ([]move.Presence, error) {
	f, ok := s.Sink.(move.Finder)
	if !ok {
		return nil, errors.New("this target cannot be asked what it has")
	}
	return f.Find(ctx, entries)
}
