package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"linerate/internal/move"
)

// memory sends data of no file for as long as the options say: what streams, encryption and
// sockets can do without a disk. The data are random, so that nothing on the way makes them
// smaller, and are not hashed.
func (s *sender) memory(ctx context.Context) error {
	buf := s.pool.take(MaxData)
	if _, err := rand.Read(*buf); err != nil {
		return fmt.Errorf("draw data: %w", err)
	}
	over := time.NewTimer(s.o.Mem)
	defer over.Stop()
	for done := false; !done; {
		// The one buffer serves every stream: it is only read. No stream puts it back.
		select {
		case s.out <- outgoing{frame{kind: kindMem, data: *buf}, nil, func() {}}:
		case <-over.C:
			done = true
		case <-ctx.Done():
			return s.cause(ctx)
		}
	}
	return s.finish(ctx)
}

// drop takes data of no file.
func (r *receiver) drop(c *Conn, n int) error {
	buf := r.pool.take(n)
	defer r.pool.give(buf)
	return c.data((*buf)[:n])
}

// Nothing is a sink and a source without files, for a run from memory to memory.
type Nothing struct{}

var errNothing = errors.New("files came, and memory was to come")

// Make implements move.Sink.
func (Nothing) Make(context.Context, *move.Entry) error { return errNothing }

// Put implements move.Sink.
func (Nothing) Put(context.Context, *move.Entry, move.Block) error { return errNothing }

// Begin implements move.Sink.
func (Nothing) Begin(context.Context, *move.Entry) (move.SinkFile, move.Have, error) {
	return nil, move.Have{}, errNothing
}

// Finish implements move.Sink.
func (Nothing) Finish(context.Context) error { return nil }

// Scan implements move.Source.
func (Nothing) Scan(context.Context, func(*move.Entry) error) error { return nil }

// Open implements move.Source.
func (Nothing) Open(context.Context, *move.Entry) (move.SourceFile, error) { return nil, errNothing }
