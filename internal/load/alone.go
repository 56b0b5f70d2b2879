package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"linerate/internal/load/frames"
)

// lone is a load without a peer.
type lone interface {
	// prepare gets everything ready and says what will be done.
	prepare(ctx context.Context) (Alone, error)
	// move works until a time; it looks at ctx between blocks.
	move(ctx context.Context, until time.Time) (Result, error)
	close() error
}

// alone prepares, waits for the start, and works on a thread of its own.
func (w *load) alone(ctx context.Context) (res Result, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(w.spec.CPUs) > 0 {
		if err := pinThread(w.spec.CPUs[0]); err != nil {
			return Result{}, err
		}
	}
	var a lone = &memoryCopy{}
	switch w.spec.Role {
	case Read:
		a = &fileRead{spec: *w.spec.Read}
	case Write:
		a = &fileWrite{spec: *w.spec.Write}
	case Block:
		a = &blockLoad{spec: *w.spec.Block, warmup: w.spec.Warmup, length: w.spec.Duration}
	case Frames:
		a = &framesLoad{spec: *w.spec.Frames, length: w.spec.Duration}
	}
	defer func() {
		if cerr := a.close(); err == nil {
			err = cerr
		}
	}()
	about, err := a.prepare(ctx)
	if err != nil && ctx.Err() == nil && !passing(err) {
		return Result{}, &RefusedError{err}
	}
	if err != nil {
		return Result{}, err
	}
	start, err := w.stage.Begin(ctx, Up{TIDs: []int{threadID()}, Alone: &about})
	if err != nil {
		return Result{}, err
	}
	res, err = a.move(ctx, start.Add(w.spec.Duration))
	if err != nil {
		return Result{}, err
	}
	if res.Alone == nil {
		res.Alone = &about
	}
	res.BytesAfterWarmup = res.Bytes
	return res, nil
}

// Sizes of a Copy's buffers. They have to be far larger than the caches; a
// host that has little memory free gets smaller ones, and that is said.
const (
	copyCaches = 4 // times the largest cache
	leastCopy  = 64 << 20
	mostCopy   = 512 << 20
	tinyCopy   = 8 << 20
)

// memoryCopy copies one buffer to another, again and again.
type memoryCopy struct {
	from, to []byte
	about    Alone
}

func (m *memoryCopy) prepare(context.Context) (Alone, error) {
	cache, free := largestCache(), freeMemory()
	size := min(max(copyCaches*cache, leastCopy), mostCopy)
	if free > 0 {
		size = min(size, max(free/8, tinyCopy))
	}
	size -= size % copyBlock
	var err error
	if m.from, err = newBuffer(int(size)); err == nil {
		m.to, err = newBuffer(int(size))
	}
	if err != nil {
		return Alone{}, fmt.Errorf("get buffers to copy: %w", err)
	}
	copy(m.to, m.from) // both are in memory from here on
	method := fmt.Sprintf("one core copies %d MiB to another place", size>>20)
	switch {
	case cache == 0:
		method += " (cache size not known)"
	case size < 2*cache:
		method += fmt.Sprintf(" (only %.1f times its cache of %d MiB)", float64(size)/float64(cache), cache>>20)
	}
	m.about = Alone{Method: method, Buffer: size}
	return m.about, nil
}

// copyBlock is copied between two looks at the clock.
const copyBlock = 4 << 20

// cacheBlock fits into the second-level cache of any server of the last ten
// years, twice; cachePart of the time goes to copying it.
const (
	cacheBlock = 256 << 10
	cachePart  = 4
)

// move copies through memory first, and then within the caches: that bounds
// what moves data in blocks, as sockets do.
func (m *memoryCopy) move(ctx context.Context, until time.Time) (Result, error) {
	r, err := m.copy(ctx, until.Add(-time.Until(until)/cachePart), len(m.from), copyBlock)
	if err != nil {
		return r, err
	}
	near, err := m.copy(ctx, until, cacheBlock, cacheBlock)
	if err != nil {
		return r, err
	}
	about := m.about
	about.InCache = float64(near.Bytes) / near.Window.Seconds()
	r.Alone = &about
	return r, nil
}

// copy copies the first size bytes, block by block, again and again.
func (m *memoryCopy) copy(ctx context.Context, until time.Time, size, block int) (Result, error) {
	var r Result
	start := time.Now()
	for at := 0; ; at = (at + block) % size {
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		r.Bytes += int64(copy(m.to[at:at+block], m.from[at:]))
		if now := time.Now(); !now.Before(until) {
			r.Window = now.Sub(start)
			return r, nil
		}
	}
}

func (m *memoryCopy) close() error {
	for _, b := range [][]byte{m.from, m.to} {
		if b == nil {
			continue
		}
		if err := freeBuffer(b); err != nil {
			return fmt.Errorf("give back buffers: %w", err)
		}
	}
	return nil
}

// passing tells an error of a server or a disk that may be back the next time, and of
// a host that is short of something now, from one that comes again each time.
func passing(err error) bool {
	return slices.ContainsFunc([]error{frames.ErrNoRoom, syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EHOSTDOWN, syscall.EHOSTUNREACH, syscall.ENOTCONN,
		syscall.EAGAIN, syscall.EINTR, syscall.EBUSY, syscall.ENOMEM, syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE}, func(e error) bool { return errors.Is(err, e) })
}
