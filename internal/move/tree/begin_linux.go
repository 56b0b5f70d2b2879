package tree

import (
	"context"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/move"
	"linerate/internal/move/beneath"
)

// Bounds of what a scan that was begun finds before somebody asks for it.
const (
	begunBatches = 256
	begunEntries = 64        // of a batch
	begunXattrs  = 64 << 10  // bytes of a batch from which it is closed
	begunData    = 256 << 20 // bytes of small files that the system is asked to read, at most
)

// begun is a scan that goes on before somebody asks for what it finds.
type begun struct {
	batches chan []*move.Entry
	cancel  context.CancelFunc
	asked   atomic.Bool
	err     error // how it ended; read it only after batches were closed

	batch  []*move.Entry
	xattrs int   // bytes
	unread int64 // bytes of small files that may yet be read ahead
}

// Begin begins the scan, of which the first Scan then finds a part done. Until that is called the system
// reads small files too, as far as it comes by some. Close ends it.
func (t *Tree) Begin() { t.begin(begunBatches) }

func (t *Tree) begin(batches int) {
	ctx, cancel := context.WithCancel(context.Background())
	b := &begun{batches: make(chan []*move.Entry, batches), cancel: cancel, unread: mayBegin(memory())}
	t.begun = b
	go func() {
		defer close(b.batches)
		b.err = t.walk(ctx, func(e *move.Entry) error { return b.add(ctx, t, e) })
		if b.err == nil {
			b.err = b.hand(ctx)
		}
	}()
}

// memory is what this host has, in bytes; 0: it does not tell.
func memory() uint64 {
	var of unix.Sysinfo_t
	if unix.Sysinfo(&of) != nil {
		return 0
	}
	return uint64(of.Totalram) * uint64(of.Unit)
}

// mayBegin is how many bytes of small files are read ahead on a host of so much memory: a 64th of it at
// most, so that little else leaves its cache for them.
func mayBegin(memory uint64) int64 { return int64(min(begunData, memory/64)) }

// add takes one entry. Who waits for one gets it at once.
func (b *begun) add(ctx context.Context, t *Tree, e *move.Entry) error {
	b.batch = append(b.batch, e)
	for _, x := range e.Xattrs {
		b.xattrs += len(x.Value)
	}
	asked := b.asked.Load()
	if e.Kind == move.File && !e.Linked && e.Size <= move.PackSize && b.unread > 0 && !asked {
		b.unread -= e.Size
		t.readAhead(e)
	}
	if asked && len(b.batches) == 0 || len(b.batch) == begunEntries || b.xattrs >= begunXattrs {
		return b.hand(ctx)
	}
	return nil
}

// hand hands the batch over.
func (b *begun) hand(ctx context.Context) error {
	select {
	case b.batches <- b.batch:
		b.batch, b.xattrs = nil, 0
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass hands over what the scan found, and finds.
func (b *begun) pass(ctx context.Context, yield func(*move.Entry) error) error {
	for {
		select {
		case batch, more := <-b.batches:
			if !more {
				return b.err
			}
			for _, e := range batch {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := yield(e); err != nil {
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end ends it.
func (b *begun) end() {
	if b == nil {
		return
	}
	b.cancel()
	for range b.batches { // until it has seen that
	}
}

// readAhead has the system read a small file, where that is on a disk of this host. Who reads it says what
// is wrong with it.
func (t *Tree) readAhead(e *move.Entry) {
	near, known := t.near.Load(e.Node.Dev)
	w, rel, ok := t.locate(e.Path)
	if near == false || !ok {
		return
	}
	fd, err := beneath.Open(w.fd, rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !known {
		near = kernel.OnDisk(fd)
		t.near.Store(e.Node.Dev, near)
	}
	if near == true {
		_ = unix.Fadvise(fd, 0, e.Size, unix.FADV_WILLNEED) // advice
	}
}
