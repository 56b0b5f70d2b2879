package place

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// batch are files that are whole and not yet durable: one syncfs makes all of them so, and
// then they get their names.
type batch struct {
	mu    sync.Mutex
	files []*file
	bytes int64

	flushing sync.Mutex
}

// pend adds a file; whoever fills the batch makes it durable, and the next batch waits.
func (p *Place) pend(ctx context.Context, f *file) error {
	var err error
	if f.d.eachSynced {
		err = f.sync(unix.Fsync)
	}
	if err = errors.Join(err, f.close()); err != nil {
		return errors.Join(err, f.Abort(false))
	}
	p.batch.mu.Lock()
	p.batch.files = append(p.batch.files, f)
	p.batch.bytes += f.e.Size
	full := len(p.batch.files) >= batchFiles || p.batch.bytes >= batchBytes
	p.batch.mu.Unlock()
	if full {
		return p.flush(ctx)
	}
	return nil
}

// flush makes the batch durable and gives its files their names. A file that fails is
// reported by name; an error is one after which nothing more can be written.
func (p *Place) flush(ctx context.Context) error {
	p.batch.flushing.Lock()
	defer p.batch.flushing.Unlock()
	p.batch.mu.Lock()
	files := p.batch.files
	p.batch.files, p.batch.bytes = nil, 0
	p.batch.mu.Unlock()
	if len(files) == 0 {
		return nil
	}
	synced := map[uint64]error{}
	for _, f := range files {
		if _, ok := synced[f.d.dev]; !ok {
			synced[f.d.dev] = p.syncFS(f.d.dev)
		}
	}
	var g errgroup.Group
	g.SetLimit(namers)
	for _, in := range byDirectory(files) {
		g.Go(func() error {
			var end error
			for _, f := range in {
				end = errors.Join(end, p.settle(ctx, f, synced[f.d.dev]))
			}
			return end
		})
	}
	return g.Wait()
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
	err := ctx.Err()
	if err == nil && synced != nil {
		err = synced
	}
	if err == nil {
		err = p.name(f)
	}
	if err == nil {
		return nil
	}
	p.report.Lose(move.Failed, f.e.Path, "%v", errors.Join(err, f.Abort(false)))
	if errors.Is(err, move.ErrSink) || ctx.Err() != nil {
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
