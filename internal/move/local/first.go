package local

import (
	"context"

	"linerate/internal/move"
)

// carried is a sink that may lie on a server.
type carried interface {
	// Carried tells whether data that lie on a device of this host have to be carried to a server.
	Carried(device uint64) bool
}

// first is the first block of a large file, which is read while the server of its target makes the file:
// nothing else is to be done meanwhile. nil: it is read in its turn.
type first struct {
	index int64
	buf   pages
	done  chan struct{} // closed once it was read
	b     move.Block
	err   error
}

// readFirst begins to read it. In a copy that has found a file to be there already it is not: most of what
// was read would not be wanted.
func (e *engine) readFirst(ctx context.Context, f move.SourceFile) *first {
	to, ok := e.dst.(carried)
	if !ok || e.found.Load() || !to.Carried(f.Entry().Node.Dev) {
		return nil
	}
	i, err := f.Next(0)
	if err != nil {
		return nil // who asks again is told
	}
	x := &first{index: i, buf: e.bufs.take(), done: make(chan struct{})}
	go func() {
		defer close(x.done)
		e.read.Begin()
		defer e.read.End()
		x.b, x.err = f.Read(ctx, i, x.buf.b)
	}()
	return x
}

// of gives it to who moves that block.
func (x *first) of(index int64) *first {
	if x == nil || x.index != index {
		return nil
	}
	return x
}

// end has nobody use its memory any more.
func (e *engine) end(x *first) {
	if x == nil {
		return
	}
	<-x.done
	e.bufs.give(x.buf)
}

// block reads a block, or takes it where it was read.
func (e *engine) block(ctx context.Context, t task, buf []byte) (move.Block, error) {
	if t.first != nil {
		<-t.first.done
		return t.first.b, t.first.err
	}
	e.read.Begin()
	defer e.read.End()
	return t.src.Read(ctx, t.index, buf)
}
