package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
)

// arrived is a frame with data that is to be written.
type arrived struct {
	block *blockMessage
	pack  *packMessage
	buf   *[]byte
	n     int
}

// stream takes what comes on data stream n: while one frame is written the next is
// received. The end of wait without that of ctx: it does not come.
func (r *receiver) stream(ctx, wait context.Context, n uint32) error {
	c, err := r.party.Stream(wait, n)
	if err != nil && wait.Err() != nil && ctx.Err() == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open data stream: %v", err) // the other end was reached: no UnreachedError
	}
	r.stats.add(c)
	g, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, c.stop)() // who receives returns ctx's cause
	queue := make(chan arrived, 1)
	g.Go(bound(r.near.Net, func() error {
		defer close(queue)
		return r.fill(ctx, c, queue)
	}))
	g.Go(bound(r.near.Disk, func() error {
		for a := range queue {
			if err := r.take(ctx, a); err != nil {
				return err
			}
		}
		return nil
	}))
	return g.Wait()
}

// fill receives until the other end says that nothing follows.
func (r *receiver) fill(ctx context.Context, c *Conn, queue chan<- arrived) error {
	for {
		k, meta, n, err := c.receive()
		if err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("stream %d ended before the other end said so: %w", c.n, io.ErrUnexpectedEOF)
			}
			return err
		}
		var a arrived
		switch k {
		case kindBlock:
			m, perr := parseBlockFrame(meta, n)
			a.block, err = &m, perr
		case kindPack:
			m, perr := parsePack(meta, n)
			a.pack, err = &m, perr
		case kindMem:
			if err := r.drop(c, n); err != nil {
				return err
			}
			continue
		case kindEnd:
			return c.Close() // which tells the other end that all was taken over
		default:
			err = errMessage
		}
		if err != nil {
			return err
		}
		a.buf, a.n = r.pool.take(n), n
		if err := c.data((*a.buf)[:n]); err != nil {
			return err
		}
		if err := hold(ctx, c, queue, a); err != nil {
			return err
		}
	}
}

// hold keeps what arrived until the writer takes it.
func hold(ctx context.Context, c *Conn, queue chan<- arrived, a arrived) error {
	c.heldIn.Begin()
	defer c.heldIn.End()
	select {
	case queue <- a:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// take writes what a frame brought.
func (r *receiver) take(ctx context.Context, a arrived) error {
	defer r.pool.give(a.buf)
	r.stats.Write.Begin()
	defer r.stats.Write.End()
	data := (*a.buf)[:a.n]
	if a.block != nil {
		a.block.Data = data
		return r.write(ctx, a.block)
	}
	if err := r.await(func() bool { return r.made >= a.pack.after }); err != nil {
		return err
	}
	return r.unpack(ctx, a.pack, data)
}

// unpack hands the files of a pack over.
func (r *receiver) unpack(ctx context.Context, m *packMessage, data []byte) error {
	for _, f := range m.files {
		n := 0
		for _, x := range f.block.Extents {
			n += int(x.Length)
		}
		f.block.Data, data = data[:n], data[n:]
		if err := r.sink.Put(ctx, f.entry, f.block); err != nil {
			r.rep.Lose(move.Failed, f.entry.Path, "%v", err)
			if errors.Is(err, move.ErrSink) {
				return err
			}
		}
	}
	r.mu.Lock()
	r.packs++
	r.changed.Broadcast()
	r.mu.Unlock()
	return r.control.send(frame{kind: kindPacked})
}

// write writes a block. One with another hash is asked for again; another error is the end
// of its file.
func (r *receiver) write(ctx context.Context, m *blockMessage) error {
	r.mu.Lock()
	f := r.files[m.id]
	if f == nil || f.told {
		known := f != nil || m.id > 0 && m.id <= r.last
		r.mu.Unlock()
		if !known {
			return errMessage
		}
		return nil // it was given up
	}
	f.writing++
	r.mu.Unlock()
	err := f.to.Write(ctx, m.Block)
	r.mu.Lock()
	f.writing--
	var corrupt *move.CorruptError
	tell := false
	switch {
	case err == nil:
		f.written[m.Index] = true
	case errors.As(err, &corrupt):
	default:
		tell = !f.told
		f.told = true
	}
	r.changed.Broadcast()
	r.mu.Unlock()
	switch {
	case err == nil:
		return nil
	case corrupt != nil:
		r.stats.Again.Add(1)
		return r.control.send(frame{kind: kindNak, meta: pairMessage{m.id, uint64(m.Index)}.append(nil)})
	case !tell:
		return nil
	}
	r.rep.Lose(move.Failed, f.entry.Path, "%v", err)
	d, sink := doneMessage{id: m.id, text: err.Error()}, false
	if d.outcome, sink = r.refused(err); sink {
		return errors.Join(r.answer(d), err)
	}
	return r.answer(d)
}
