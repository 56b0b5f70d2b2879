package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"

	"linerate/internal/move"
	"linerate/internal/move/local"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
	"linerate/internal/move/wire"
)

// flipping is a source of whose blocks some have another bit than when they were hashed, as memory does.
type flipping struct {
	move.Source
	mu     sync.Mutex
	rand   *rand.Rand
	one    int    // of so many blocks
	always string // this file's blocks all have; "": of none
	times  int
}

type flippingFile struct {
	move.SourceFile
	s    *flipping
	path string
}

// Open implements move.Source.
func (s *flipping) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := s.Source.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	return flippingFile{f, s, e.Path}, nil
}

// Read implements move.SourceFile.
func (f flippingFile) Read(ctx context.Context, i int64, buf []byte) (move.Block, error) {
	b, err := f.SourceFile.Read(ctx, i, buf)
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if err == nil && len(b.Data) > 0 && (f.path == f.s.always || f.s.rand.IntN(f.s.one) == 0) {
		b.Data[f.s.rand.IntN(len(b.Data))] ^= 1 << f.s.rand.IntN(8)
		f.s.times++
	}
	return b, err
}

// inMemory copies in this process, by linerate's own rooms, with blocks that are spoiled between their hash
// and the comparison: here, or between two ends. What has its name is right, and what fails is named.
func (b *bench) inMemory(ctx context.Context, t *tally) error {
	if err := b.tree(); err != nil {
		return err
	}
	sent, received := move.NewReport(nil), move.NewReport(nil)
	from, err := tree.Open([]tree.Top{{Dir: b.src}}, tree.Options{Direct: b.rand.IntN(2) == 0}, sent)
	if err != nil {
		return err
	}
	to, err := place.Open(b.dst, place.Options{Direct: b.rand.IntN(2) == 0}, received)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	s := &flipping{Source: from, rand: rand.New(rand.NewPCG(b.rand.Uint64(), 2)), one: 10 + b.rand.IntN(100)}
	if b.rand.IntN(2) == 0 {
		s.always = []string{"large", "middle", fmt.Sprintf("d/f%d", b.rand.IntN(200))}[b.rand.IntN(3)]
	}
	var ran error
	if b.rand.IntN(2) == 0 {
		_, ran = local.Copy(ctx, s, to, received, local.Options{})
	} else {
		ran = overWire(ctx, s, to, sent, received, b.rand.IntN(2) == 0)
	}
	if err := errors.Join(to.Close(), from.Close()); err != nil {
		return err
	}
	named := map[string]bool{}
	for _, r := range []*move.Report{sent, received} {
		_, first, _ := r.Losses()
		for _, l := range first {
			if l.What == move.Failed {
				named[l.Path] = true
			}
		}
	}
	return b.after(ctx, t, outcome{over: ran == nil, done: s.times > 0, failed: named}, nil)
}

// overWire copies from a source to a sink by a connection on the loopback.
func overWire(ctx context.Context, s move.Source, to move.Sink, sent, received *move.Report, plain bool) error {
	ours, theirs, err := keys(plain)
	if err != nil {
		return err
	}
	l, err := wire.Listen(netip.MustParseAddrPort("127.0.0.1:0"), ours)
	if err != nil {
		return err
	}
	d := &wire.Dialler{Keys: theirs, Connect: wire.To(l.Addr(), netip.Addr{})}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := make(chan error, 1)
	go func() {
		err := wire.Receive(ctx, l, to, received, wire.Near{}, &wire.Stats{})
		if err != nil {
			cancel() // nobody receives any more
		}
		end <- err
	}()
	err = wire.Send(ctx, d, s, sent, wire.Options{Streams: 2}, &wire.Stats{})
	if err != nil {
		cancel()
	}
	return errors.Join(err, <-end, d.Close(), l.Close())
}

// keys are those of both ends of a new run.
func keys(plain bool) (a, c *wire.Keys, err error) {
	run, secret, err := wire.Draw()
	if err != nil {
		return nil, nil, err
	}
	one, err := wire.NewIdentity()
	if err != nil {
		return nil, nil, err
	}
	two, err := wire.NewIdentity()
	if err != nil {
		return nil, nil, err
	}
	return &wire.Keys{Run: run, Secret: secret, Self: one, Peer: two.Pin(), Plain: plain}, &wire.Keys{Run: run, Secret: secret, Self: two, Peer: one.Pin(), Plain: plain}, nil
}
