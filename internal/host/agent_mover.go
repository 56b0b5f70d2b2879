package host

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"linerate/internal/move/mover"
)

// Bounds of what a mover says.
const (
	maxUntaken  = 512 // events that wait to be taken: the mover waits then too
	takenAtOnce = 64
	takenBytes  = 1 << 20
	moverEnding = 3 * time.Second // to leave what was written in order
	firstWord   = 2 * time.Second // that a mover's start waits for
)

// moverEvents are the events of a mover that were not taken yet: it says much, each once.
type moverEvents struct {
	waiting []moverEvent
	ports   map[int]uint16 // it listens on, by the other end that it listens for
}

type moverEvent struct {
	mover.Event
	size int // bytes of its line
}

// startMover waits for the first that the mover says, which saves who asked a round trip.
func (a *agent) startMover(ctx context.Context, t mover.Task) (startedResult, error) {
	if err := t.Check(); err != nil {
		return startedResult{}, fmt.Errorf("start mover: %w", err)
	}
	r, err := a.started(spawn(order{a.o.Self, mover.Role, t, mover.MaxEvent, moverEnding, a.o.Log}, &moverEvents{ports: map[int]uint16{}}))
	if err != nil {
		return r, err
	}
	ctx, cancel := context.WithTimeout(ctx, firstWord)
	defer cancel()
	first, _ := a.takeEvents(ctx, idParams{r.ID}) // one that said nothing is asked for its events
	r.Events = first.Events
	return r, nil
}

func (m *moverEvents) add(line []byte) error {
	e := moverEvent{size: len(line)}
	if err := json.Unmarshal(line, &e.Event); err != nil {
		return err
	}
	if e.Addr.IsValid() {
		m.ports[e.Pair] = e.Addr.Port()
	}
	// Of what it has done so far the last word is enough.
	if n := len(m.waiting); e.Kind == mover.Seen && n > 0 && m.waiting[n-1].Kind == mover.Seen {
		m.waiting[n-1] = e
	} else {
		m.waiting = append(m.waiting, e)
	}
	return nil
}

func (m *moverEvents) full() bool { return len(m.waiting) >= maxUntaken }

// some takes events, up to a bound.
func (m *moverEvents) some() (out []mover.Event) {
	size := 0
	for len(m.waiting) > 0 && len(out) < takenAtOnce && (size == 0 || size+m.waiting[0].size <= takenBytes) {
		out, size = append(out, m.waiting[0].Event), size+m.waiting[0].size
		m.waiting = m.waiting[1:]
	}
	return out
}

// takeEvents waits for what a mover says, and takes it.
func (a *agent) takeEvents(ctx context.Context, p idParams) (r moverResult, err error) {
	m, events, err := processOf[*moverEvents](a, p.ID)
	if err != nil {
		return r, err
	}
	err = m.await(ctx, func() (found, took bool) {
		r.Events = events.some()
		return len(r.Events) > 0, len(r.Events) > 0
	})
	return r, err
}

func (a *agent) tellMover(_ context.Context, p commandParams) (none, error) {
	m, _, err := processOf[*moverEvents](a, p.ID)
	if err != nil {
		return none{}, err
	}
	return none{}, m.tellJSON(p.Command)
}
