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
	all     int // sessions
	left    int // sessions that have neither finished nor gone
	waiting int // sessions that have finished
	done    chan struct{}
	err     error         // of Finish; read only after done
	keepers []move.Keeper // of the sessions that are to be tidied for
	gone    bool          // a session has gone
	tidied  chan struct{}
	untidy  error // of Tidy; read only after tidied
}

// Gather lets n sources write to a sink, each by a Session of its own.
func Gather(sink move.Sink, n int) *Sink {
	return &Sink{sink: sink, all: n, left: n, done: make(chan struct{}), tidied: make(chan struct{})}
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

// Gone tells that a source has ended before it was done. Where it did so before Finish, the others
// go on without it; where none of them has finished, nothing is. The sink is not tidied any more.
func (s *Session) Gone(ctx context.Context) {
	g := s.of
	g.mu.Lock()
	if !g.gone && len(g.keepers) < g.all { // nobody tidies yet
		g.untidy = errGone
		close(g.tidied)
	}
	g.gone = true
	g.mu.Unlock()
	s.arrive(ctx, false)
}

// errGone is a target that is not tidied: whether what it holds is of the source that has gone is
// not known.
var errGone = errors.New("a source has gone, and what it has is not known")

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

// Tidy implements move.Tidier: once every source waits here, the sink is tidied by what all of them
// have. It is not where one has gone.
func (s *Session) Tidy(ctx context.Context, source move.Keeper) error {
	t, ok := s.Sink.(move.Tidier)
	if !ok {
		return nil
	}
	g := s.of
	g.mu.Lock()
	if g.gone {
		g.mu.Unlock()
		return nil // the others are done: the loss of one is told by its own end
	}
	g.keepers = append(g.keepers, source)
	last := len(g.keepers) == g.all
	g.mu.Unlock()
	if last {
		g.untidy = t.Tidy(ctx, keepers(g.keepers))
		close(g.tidied)
		return g.untidy
	}
	select {
	case <-g.tidied:
		if errors.Is(g.untidy, errGone) {
			return nil
		}
		return g.untidy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keepers are several sources as one. No two have the same name in the target, so that each answers
// for what it covers, and keeps what is none of its own.
type keepers []move.Keeper

// Keeps implements move.Keeper: what one source would not keep is not kept.
func (k keepers) Keeps(ctx context.Context, names []move.Name) ([]bool, error) {
	var out []bool
	for _, one := range k {
		keeps, err := one.Keeps(ctx, names)
		if err != nil {
			return nil, err
		}
		if len(keeps) != len(names) {
			return nil, errors.New("a source has answered about other names than it was asked about")
		}
		if out == nil {
			out = make([]bool, len(names))
			for i := range out {
				out[i] = true
			}
		}
		for i := range keeps {
			out[i] = out[i] && keeps[i]
		}
	}
	return out, nil
}

// Unread implements move.Keeper.
func (k keepers) Unread(ctx context.Context) (n int64, err error) {
	for _, one := range k {
		more, err := one.Unread(ctx)
		if err != nil {
			return 0, err
		}
		n += more
	}
	return n, nil
}

// Find implements move.Finder.
func (s *Session) Find(ctx context.Context, entries []*move.Entry) ([]move.Presence, error) {
	f, ok := s.Sink.(move.Finder)
	if !ok {
		return nil, errors.New("this target cannot be asked what it has")
	}
	return f.Find(ctx, entries)
}
