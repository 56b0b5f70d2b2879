package wire

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// fan is the sender's data streams: each takes the next frame when it is free, so that a
// stream that is held up holds up nothing but the frame it has.
type fan struct {
	s    *sender
	ctx  context.Context
	g    *errgroup.Group
	over chan struct{} // closed when nothing more comes
	once sync.Once     // closes it
	n    uint32        // streams that were opened
}

func (s *sender) fan(ctx context.Context, g *errgroup.Group) *fan {
	return &fan{s: s, ctx: ctx, g: g, over: make(chan struct{})}
}

// enough ends the streams once the queue is empty.
func (f *fan) enough() { f.once.Do(func() { close(f.over) }) }

// begin has the first streams opened, all at once: each takes some round trips. Those that are
// open are used meanwhile. It adds to them for as long as that brings something.
func (f *fan) begin() error {
	n := f.s.o.Streams
	if n == 0 {
		n = FirstStreams
	}
	for range min(n, MaxStreams) {
		n, err := f.announce()
		if err != nil {
			return err
		}
		f.g.Go(bound(f.s.o.Near.Net, func() error {
			c, err := f.open(n)
			if err != nil {
				return err
			}
			return f.serve(c)
		}))
	}
	if f.s.o.Streams == 0 {
		f.g.Go(func() error { f.grow(); return nil })
	}
	return nil
}

// errEnough: the other end was told that nothing follows, and hears of no further stream.
var errEnough = errors.New("the copy is about to finish")

// announce tells the other end of one more stream, and gives its number.
func (f *fan) announce() (uint32, error) {
	f.s.announcing.Lock()
	defer f.s.announcing.Unlock()
	return f.tell()
}

// tell is announce, with s.announcing held.
func (f *fan) tell() (uint32, error) {
	if f.s.isFinishing() {
		return 0, errEnough
	}
	f.n++
	return f.n, f.s.control.send(frame{kind: kindMore, meta: binary.AppendUvarint(nil, uint64(f.n))})
}

// open opens a stream that the other end was told of.
func (f *fan) open(n uint32) (*Conn, error) {
	c, err := f.s.party.Stream(f.ctx, n)
	if err != nil {
		return nil, fmt.Errorf("open data stream: %v", err) // the other end was reached: no UnreachedError
	}
	f.s.stats.add(c)
	return c, f.s.o.Congestion.set(c.raw)
}

// more opens one more stream. The other end waits for what it was told of: it hears where that does
// not come, as through a firewall that bounds the connections of a host. That is before finish.
func (f *fan) more() error {
	f.s.announcing.Lock()
	defer f.s.announcing.Unlock()
	n, err := f.tell()
	if err != nil {
		return err
	}
	c, err := f.open(n)
	if err != nil {
		return errors.Join(err, f.s.control.send(frame{kind: kindLess, meta: binary.AppendUvarint(nil, uint64(n))}))
	}
	f.g.Go(bound(f.s.o.Near.Net, func() error { return f.serve(c) }))
	return nil
}

// serve sends what comes. At the end it waits for the other end to close, which then has
// everything.
func (f *fan) serve(c *Conn) error {
	defer context.AfterFunc(f.ctx, c.stop)()
	for {
		select {
		case o := <-f.s.out:
			if err := f.pass(c, o); err != nil {
				return f.why(err)
			}
			continue
		default:
		}
		select {
		case o := <-f.s.out:
			if err := f.pass(c, o); err != nil {
				return f.why(err)
			}
		case <-f.over:
			if err := c.send(frame{kind: kindEnd}); err != nil {
				return f.why(err)
			}
			_, _ = c.in.Peek(1) // its end, however it comes
			return c.Close()
		case <-f.ctx.Done():
			return nil
		}
	}
}

// why is the reason for which the run ended, if that is what closed the stream.
func (f *fan) why(err error) error {
	if f.ctx.Err() != nil {
		return f.s.cause(f.ctx)
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.over == errFinished {
		return nil
	}
	return err
}

func (f *fan) pass(c *Conn, o outgoing) error {
	if o.buf != nil {
		defer f.s.pool.give(o.buf)
	}
	defer o.sent()
	f.s.stats.Pace.Begin()
	err := f.s.o.Pace.Wait(f.ctx, len(o.data))
	f.s.stats.Pace.End()
	if err != nil {
		return cmp.Or(context.Cause(f.ctx), err)
	}
	return c.send(o.frame)
}

// grow opens streams until they bring too little.
func (f *fan) grow() {
	g := growth{added: true}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-f.over:
			return
		case <-f.ctx.Done():
			return
		}
		look, sockets := f.s.stats.Look(), f.s.stats.Sockets()
		add, over := g.next(grown{look.Sent, look.Sending, sockets.Busy, sockets.SndbufLimited}, int(f.n))
		if f.widen(add) != nil || over { // it goes on with those that there are
			return
		}
	}
}

// widen opens n more streams, unless one does not come: then the next hardly would, and each is waited for.
func (f *fan) widen(n int) error {
	for range n {
		if err := f.more(); err != nil {
			return err
		}
	}
	return nil
}
