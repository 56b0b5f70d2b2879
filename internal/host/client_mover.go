package host

import (
	"context"
	"errors"
	"io"

	"linerate/internal/move/mover"
)

// Mover is one end of a copy, at the host. What it has not committed when it is stopped stays for
// a next run.
type Mover struct {
	running
	first []mover.Event // that came with its start, until they are taken
}

// StartMover starts one end of a copy. The task's version is filled in.
func (c *Client) StartMover(ctx context.Context, t mover.Task) (*Mover, error) {
	t.V = mover.Version
	r, err := start(ctx, c, methodMover, t)
	if err != nil {
		return nil, err
	}
	return &Mover{r, r.r.Events}, nil
}

// Tell sends it a command.
func (m *Mover) Tell(ctx context.Context, c mover.Command) error {
	_, err := ask(ctx, m.c, methodMoverTell, commandParams{m.r.ID, c})
	return err
}

// Events waits for what it says next; each event is given once, to one caller at a time. After
// the last one it is an error.
func (m *Mover) Events(ctx context.Context) ([]mover.Event, error) {
	if first := m.first; len(first) > 0 {
		m.first = nil
		return first, nil
	}
	r, err := ask(ctx, m.c, methodMoverEvents, idParams{m.r.ID})
	return r.Events, err
}

// Tunnel passes what comes from near on to the port that the mover listens on for the other end of
// this number (0 where there is one), and back, through the agent's channel, until one of them ends. It is slow: everything goes as text
// in messages, one after the other.
func (m *Mover) Tunnel(ctx context.Context, pair int, near io.ReadWriteCloser) error {
	defer near.Close()
	r, err := ask(ctx, m.c, methodTunnelOpen, tunnelParams{m.r.ID, pair})
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		defer near.Close()
		done <- m.back(ctx, r.ID, near)
	}()
	b := make([]byte, maxPiece)
	for err == nil {
		n := 0
		n, err = near.Read(b)
		if n > 0 {
			if _, serr := ask(ctx, m.c, methodTunnelSend, pieceParams{r.ID, b[:n]}); serr != nil {
				err = serr
			}
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	// What waits for the other direction hears of it.
	_, cerr := ask(context.WithoutCancel(ctx), m.c, methodTunnelClose, idParams(r))
	<-done
	return errors.Join(err, cerr)
}

// back passes on what comes through a tunnel.
func (m *Mover) back(ctx context.Context, id int, near io.Writer) error {
	for {
		r, err := ask(ctx, m.c, methodTunnelReceive, idParams{id})
		if err != nil || len(r.Data) == 0 {
			return err
		}
		if _, err := near.Write(r.Data); err != nil {
			return err
		}
	}
}
