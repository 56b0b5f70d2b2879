// Package local brings a source and a sink of one host together: several files and blocks
// in flight, whose data pass through memory once. Where the file system can share or copy
// the data itself it lets it. It refuses to call a file copied that changed meanwhile, or
// whose hash differs, and goes on with the others.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
	"linerate/internal/move/spool"
)

// Options of a copy.
type Options struct {
	Files  int         // in flight; 0: 16, or 32 to a server
	Blocks int         // of large files in flight; 0: 8
	Rate   int64       // at most so many bytes a second; 0: no limit
	Verify move.Verify // as source and sink have it
	Clone  bool        // let the file system copy what it can
	Spent  *Spent      // what it waits for, while it goes on; nil: nobody looks
}

// Spent are Times as they grow.
type Spent struct{ read, write, commit move.Meter }

// Times is what was spent until now.
func (s *Spent) Times() Times {
	return Times{s.read.Sum(), s.write.Sum(), s.commit.Sum()}
}

// largeFiles is how many files larger than a pack are open at once: enough to begin the next
// while one is made durable.
const largeFiles = 3

// Times say what the copy waited for: summed over all that was in flight.
type Times struct {
	Read   time.Duration `json:"read"`   // in reading and hashing
	Write  time.Duration `json:"write"`  // in comparing and writing
	Commit time.Duration `json:"commit"` // in making durable and naming
}

// engine is one copy.
type engine struct {
	src    move.Source
	dst    move.Sink
	report *move.Report
	o      Options
	pace   *move.Pacer
	blocks chan task
	bufs   *buffers
	large  chan struct{}
	links  spool.Spool
	turned bool        // files of several directories at once
	found  atomic.Bool // a file was there already

	*Spent
}

// task is one block of a file; done hears of its end.
type task struct {
	src   move.SourceFile
	dst   move.SinkFile
	index int64
	first *first // what was read of it; nil: nothing
	done  func(move.Leaf, error)
}

// Copy copies all that src has to dst, and finishes dst. What failed for one entry is in the
// report; an error is the end of the copy.
func Copy(ctx context.Context, src move.Source, dst move.Sink, r *move.Report, o Options) (Times, error) {
	to, ok := dst.(served)
	turned := ok && to.Served()
	if o.Files == 0 && turned {
		o.Files = servedFiles
	} else if o.Files == 0 {
		o.Files = 16
	}
	if o.Blocks == 0 {
		o.Blocks = 8
	}
	if o.Spent == nil {
		o.Spent = &Spent{}
	}
	e := &engine{Spent: o.Spent, src: src, dst: dst, report: r, o: o, pace: move.NewPacer(o.Rate), blocks: make(chan task), large: make(chan struct{}, largeFiles), turned: turned}
	err := errors.Join(e.run(ctx), e.links.Close())
	return e.Times(), err
}

func (e *engine) run(ctx context.Context) error {
	movers, mctx := errgroup.WithContext(ctx)
	bufs, err := newBuffers(e.o.Blocks + largeFiles)
	if err != nil {
		return err
	}
	e.bufs = bufs
	defer bufs.free()
	for range e.o.Blocks {
		movers.Go(func() error {
			for t := range e.blocks {
				buf := bufs.take()
				leaf, err := e.move(mctx, t, buf.b)
				bufs.give(buf)
				t.done(leaf, err)
			}
			return nil
		})
	}
	err = e.entries(ctx)
	if err == nil {
		err = e.further(ctx)
	}
	close(e.blocks)
	if err = errors.Join(err, movers.Wait()); err != nil {
		return err
	}
	e.commit.Begin()
	err = e.dst.Finish(ctx)
	e.commit.End()
	source, asked := e.src.(move.Keeper)
	if t, ok := e.dst.(move.Tidier); ok && asked && err == nil {
		err = t.Tidy(ctx, source)
	}
	return err
}

// entries scans, makes what has no data, and hands files to workers.
func (e *engine) entries(ctx context.Context) error {
	found := make(chan *move.Entry, 4*e.o.Files)
	g, ctx := errgroup.WithContext(ctx)
	files := found
	if e.turned {
		files = make(chan *move.Entry)
		g.Go(func() error { return inTurns(ctx, found, files) })
	}
	g.Go(func() error {
		defer close(found)
		return e.src.Scan(ctx, func(x *move.Entry) error {
			switch {
			case x.Linked:
				return e.links.Add(x)
			case x.Kind != move.File:
				return e.ended(x, e.dst.Make(ctx, x))
			}
			select {
			case found <- x:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for range e.o.Files {
		g.Go(func() error {
			var small room
			for x := range files {
				if err := e.ended(x, e.file(ctx, x, &small)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// further makes the further names of files, whose first ones are committed by now.
func (e *engine) further(ctx context.Context) error {
	var small room
	return e.links.Backward(func(x *move.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := e.dst.Make(ctx, x)
		if errors.Is(err, move.ErrNoFirst) {
			x.Linked, x.First = false, ""
			if x.Kind == move.File {
				err = e.file(ctx, x, &small)
			} else {
				err = e.dst.Make(ctx, x)
			}
		}
		return e.ended(x, err)
	})
}

// ended reports the failure of one entry; the error that is left ends the copy.
func (e *engine) ended(x *move.Entry, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	what := move.Failed
	if errors.Is(err, move.ErrUnmade) {
		what = move.LostEntry
	}
	e.report.Lose(what, x.Path, "%v", err)
	if errors.Is(err, move.ErrSink) {
		return err
	}
	return nil
}

// file copies one file, and once more if it changed meanwhile.
func (e *engine) file(ctx context.Context, x *move.Entry, small *room) error {
	err := e.once(ctx, x, small)
	if errors.Is(err, move.ErrChanged) {
		e.report.Count(func(s *move.Summary) { s.Retried++ })
		err = e.once(ctx, x, small)
	}
	return err
}

func (e *engine) once(ctx context.Context, x *move.Entry, small *room) (err error) {
	f, err := e.src.Open(ctx, x)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if f.Entry().Size <= move.PackSize {
		return e.pack(ctx, f, small)
	}
	select {
	case e.large <- struct{}{}:
		defer func() { <-e.large }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ahead := e.readFirst(ctx, f)
	defer e.end(ahead)
	sink, have, err := e.dst.Begin(ctx, f.Entry())
	if err != nil || have.Same {
		e.found.Store(err == nil)
		return err
	}
	root, err := e.data(ctx, f, sink, have, ahead)
	if err == nil {
		err = f.Changed()
	}
	if err != nil {
		return errors.Join(err, sink.Abort(!errors.Is(err, move.ErrChanged)))
	}
	e.commit.Begin()
	defer e.commit.End()
	return sink.Commit(ctx, root)
}

// pack copies a small file whole.
func (e *engine) pack(ctx context.Context, f move.SourceFile, small *room) error {
	var b move.Block
	i, err := f.Next(0)
	if err == nil {
		e.read.Begin()
		b, err = f.Read(ctx, i, small.of(f.Entry().Size))
		e.read.End()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := f.Changed(); err != nil {
		return err
	}
	if err := e.pace.Wait(ctx, len(b.Data)); err != nil {
		return err
	}
	e.write.Begin()
	defer e.write.End()
	return e.dst.Put(ctx, f.Entry(), b)
}

// cloner is a SinkFile that can have its data from the file system.
type cloner interface {
	Clone(ctx context.Context, src int) (bool, error)
}

// cached is a SinkFile that can be written to memory, which the kernel sends on to a server.
type cached interface {
	// Cached tells so, where the open file src is read from a disk of this host.
	Cached(src int) bool
}

// width is how many blocks of a file are in flight. From disk to memory one a core and one that is
// read is enough: more wait for a core, and each takes memory that was not used yet.
func (e *engine) width(f move.SourceFile, sink move.SinkFile) int {
	from, ok := f.(interface{ FD() int })
	to, can := sink.(cached)
	if ok && can && to.Cached(from.FD()) {
		return min(e.o.Blocks, 1+runtime.GOMAXPROCS(0))
	}
	return e.o.Blocks
}

// data moves the blocks of a file and gives its root.
func (e *engine) data(ctx context.Context, f move.SourceFile, sink move.SinkFile, have move.Have, begun *first) (move.Hash, error) {
	size := f.Entry().Size
	from, ok := f.(interface{ FD() int })
	to, can := sink.(cloner)
	if e.o.Clone && e.o.Verify != move.Full && ok && can && len(have.Leaves) == 0 {
		if done, err := to.Clone(ctx, from.FD()); done || err != nil {
			return move.Root(size, slices.Values([]move.Leaf(nil))), err
		}
	}
	l := &leaves{list: slices.Clone(have.Leaves)}
	had := map[int64]bool{}
	for _, x := range have.Leaves {
		had[x.Index] = true
	}
	flying := make(chan struct{}, e.width(f, sink))
	for i := int64(0); ; i++ {
		var err error
		if i, err = f.Next(i); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			l.fail(err)
			break
		}
		if had[i] {
			continue
		}
		flying <- struct{}{} // every block has an end, also where the copy is given up
		done := func(x move.Leaf, err error) {
			<-flying
			l.done(x, err)
		}
		l.wait.Add(1)
		select {
		case e.blocks <- task{f, sink, i, begun.of(i), done}:
		case <-ctx.Done():
			done(move.Leaf{}, ctx.Err())
		}
		if l.failed() != nil {
			break
		}
	}
	l.wait.Wait()
	if err := l.failed(); err != nil {
		return move.Hash{}, err
	}
	slices.SortFunc(l.list, func(a, b move.Leaf) int { return int(max(-1, min(1, a.Index-b.Index))) })
	return move.Root(size, slices.Values(l.list)), nil
}

// leaves collects the blocks of one file.
type leaves struct {
	wait sync.WaitGroup
	mu   sync.Mutex
	list []move.Leaf
	err  error
}

func (l *leaves) done(x move.Leaf, err error) {
	l.mu.Lock()
	switch {
	case err != nil && l.err == nil:
		l.err = err
	case err == nil && x.Hash != move.Hash{}:
		l.list = append(l.list, x)
	}
	l.mu.Unlock()
	l.wait.Done()
}

func (l *leaves) fail(err error) {
	l.wait.Add(1)
	l.done(move.Leaf{}, err)
}

func (l *leaves) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// attempts is how often a block is read that arrives as another than was read.
const attempts = 3

// move reads and writes one block. A range that holds no data any more gives no leaf.
func (e *engine) move(ctx context.Context, t task, buf []byte) (move.Leaf, error) {
	var err error
	for range attempts {
		var b move.Block
		b, err = e.block(ctx, t, buf)
		t.first = nil
		if err != nil || len(b.Extents) == 0 {
			return move.Leaf{}, err
		}
		if err = e.pace.Wait(ctx, len(b.Data)); err != nil {
			return move.Leaf{}, err
		}
		e.write.Begin()
		err = t.dst.Write(ctx, b)
		e.write.End()
		var corrupt *move.CorruptError
		if !errors.As(err, &corrupt) {
			return move.Leaf{Index: b.Index, Hash: b.Hash}, err
		}
	}
	return move.Leaf{}, err
}
