package place

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// batch are files that are whole and not yet durable: one syncfs makes all of them so, and
// then they get their names. That goes on beside the writing of the next ones: while a disk is slow,
// more of them come together. While one batch gets its names, the next one is made durable: the kernel
// does most of that on another core.
type batch struct {
	mu    sync.Mutex
	files []*file
	bytes int64
	busy  chan struct{} // closed once the batch that is being made durable is; nil: none is
	err   error         // after which nothing more can be written
	// naming is held by the batch that gets its names, from before busy is closed for it.
	naming sync.Mutex
}

// take takes the files that wait, for which busy is closed by synced; b.mu is held.
func (b *batch) take() (files []*file, busy chan struct{}) {
	files, busy = b.files, make(chan struct{})
	b.files, b.bytes, b.busy = nil, 0, busy
	return files, busy
}

// synced notes that the batch for which busy stands is durable, or why nothing more can be.
func (b *batch) synced(busy chan struct{}, err error) {
	b.fail(err)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = nil
	close(busy)
}

// fail notes an error after which nothing more can be written.
func (b *batch) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}

// pend adds a file, or names it at once where it is durable by itself and nothing is gained by waiting: with
// several, the client of a far server of SMB is asked about them at once. Whoever adds to a full batch waits
// for the one before.
func (p *Place) pend(ctx context.Context, f *file) error {
	var err error
	if f.d.eachSynced && !f.flushed {
		err = f.sync(unix.Fsync)
	}
	f.closesAtOnce()
	if err = errors.Join(err, f.close()); err == nil && (f.d.nfs || f.d.near) {
		if err = p.name(f); err == nil {
			return nil
		}
	}
	if err != nil {
		return errors.Join(err, f.Abort(false))
	}
	b := &p.batch
	b.mu.Lock()
	b.files = append(b.files, f)
	b.bytes += f.e.Size
	b.mu.Unlock()
	for {
		b.mu.Lock()
		err, before := b.err, b.busy
		if err == nil && before == nil && (len(b.files) >= leastFiles || b.bytes >= leastBytes) {
			files, busy := b.take()
			// Whole files that are durable get their names, also where the copy ends meanwhile.
			go p.conclude(context.WithoutCancel(ctx), files, busy)
		}
		full := len(b.files) >= batchFiles || b.bytes >= batchBytes
		b.mu.Unlock()
		if err != nil || !full {
			return err
		}
		select {
		case <-before:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// flush makes all that waits durable and gives it its names.
func (p *Place) flush(ctx context.Context) error {
	b := &p.batch
	for {
		b.mu.Lock()
		before, err := b.busy, b.err
		if before == nil && (err != nil || len(b.files) == 0) {
			b.mu.Unlock()
			return b.named()
		}
		if before == nil {
			files, busy := b.take()
			b.mu.Unlock()
			p.conclude(ctx, files, busy)
			return b.named()
		}
		b.mu.Unlock()
		<-before
	}
}

// named waits until the batch that gets its names has them, and is why nothing more can be written.
func (b *batch) named() error {
	b.naming.Lock()
	defer b.naming.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// drop removes what still waits, once those before have their names.
func (b *batch) drop() error {
	b.mu.Lock()
	before := b.busy
	b.mu.Unlock()
	if before != nil {
		<-before
	}
	_ = b.named() // who wrote has heard it
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, f := range b.files {
		errs = append(errs, f.Abort(false))
	}
	b.files = nil
	return errors.Join(errs...)
}

// conclude makes files durable, closes busy then, and gives them their names. A file that fails is
// reported by name; an error after which nothing more can be written is the batch's.
func (p *Place) conclude(ctx context.Context, files []*file, busy chan struct{}) {
	synced := map[uint64]error{}
	var lost error
	for _, f := range files {
		if _, ok := synced[f.d.dev]; !ok {
			synced[f.d.dev] = p.syncFS(f.d.dev)
			lost = cmp.Or(lost, synced[f.d.dev])
		}
	}
	p.batch.naming.Lock()
	defer p.batch.naming.Unlock()
	p.batch.synced(busy, lost)
	p.batch.fail(p.nameAll(ctx, files, synced))
}

// nameAll gives the files of a batch their names, where what it was synced with is no error.
func (p *Place) nameAll(ctx context.Context, files []*file, synced map[uint64]error) error {
	var g errgroup.Group
	g.SetLimit(namers)
	for _, in := range byDirectory(files) {
		g.Go(func() error {
			var end error
			for some := range slices.Chunk(in, namedNext) {
				refresh(some, lookAt)
				for _, f := range some {
					end = errors.Join(end, p.settle(ctx, f, synced[f.d.dev]))
				}
			}
			return end
		})
	}
	return g.Wait()
}

// namedNext is how many files a client of SMB is asked about before they get their names, which takes less
// than the second for which it believes what it knows, unless it is told otherwise (actimeo).
const namedNext = 16

// refresh has a client of SMB ask at once about files that it would else ask about one by one, as it
// renames them and lets nobody else make or rename a file of their directory.
func refresh(files []*file, look func(*file)) {
	if !files[0].d.smb() {
		return
	}
	var g sync.WaitGroup
	for _, f := range files {
		g.Go(func() { look(f) })
	}
	g.Wait()
}

func lookAt(f *file) {
	var st unix.Stat_t
	_ = unix.Fstatat(f.d.fd, f.temp, &st, unix.AT_SYMLINK_NOFOLLOW) // the rename tells what is wrong
}

// namers give names in so many directories at once: within one, kernels rename one by one.
const namers = 8

func byDirectory(files []*file) map[*dir][]*file {
	out := map[*dir][]*file{}
	for _, f := range files {
		out[f.d] = append(out[f.d], f)
	}
	return out
}

// settle names one file of a batch that was synced, or reports it; an error is one after which
// nothing more can be written.
func (p *Place) settle(ctx context.Context, f *file, synced error) error {
	if ctx.Err() != nil { // the copy ends: the file has not failed, its data are sent again
		return errors.Join(ctx.Err(), f.Abort(false))
	}
	err := synced
	if err == nil {
		err = p.name(f)
	}
	if err == nil {
		return nil
	}
	p.report.Lose(move.Failed, f.e.Path, "%v", errors.Join(err, f.Abort(false)))
	if errors.Is(err, move.ErrSink) {
		return err
	}
	return nil
}

// name proves a file that is durable and gives it its name.
func (p *Place) name(f *file) error {
	if err := f.prove(); err != nil {
		return err
	}
	if err := p.give(f.d, f.temp, f.name); err != nil {
		return err
	}
	p.committed(f.e)
	p.unclaim(f.d, f.temp)
	p.release(f.d)
	return nil
}
