package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"linerate/internal/move"
)

// maxNaks is how many blocks of one file may wait to be sent again.
const maxNaks = 1024

// sentFile is a file that is being sent, or an entry that waits for its answer.
type sentFile struct {
	s     *sender
	id    uint64
	entry *move.Entry
	open  move.SourceFile
	have  chan haveMessage
	done  chan doneMessage
	naks  chan int64

	part []move.Leaf // of have frames that more follow

	mu     sync.Mutex
	leaves map[int64]move.Hash // of what was read
	err    error               // of a read
	left   sync.WaitGroup      // blocks that were asked for and not sent yet
	failed bool                // the receiver has said so: nothing more is sent
}

// heard keeps what the receiver has of the file.
func (f *sentFile) heard(m haveMessage) error {
	f.part = append(f.part, m.leaves...)
	if int64(len(f.part)) > move.Blocks(f.entry.Size)+1 {
		return errMessage
	}
	if m.more {
		return nil
	}
	m.leaves, f.part = f.part, nil
	select {
	case f.have <- m:
		return nil
	default: // a second answer
		return errMessage
	}
}

func (f *sentFile) isDone(m doneMessage) error {
	f.mu.Lock()
	f.failed = f.failed || m.outcome != outcomeGood
	f.mu.Unlock()
	select {
	case f.done <- m:
		return nil
	default:
		return errMessage
	}
}

func (f *sentFile) again(index int64) error {
	select {
	case f.naks <- index:
		return nil
	default:
		return errMessage
	}
}

// ended waits for the receiver's outcome.
func (f *sentFile) ended(ctx context.Context) (doneMessage, error) {
	select {
	case d := <-f.done:
		return d, nil
	case <-ctx.Done():
		return doneMessage{}, f.s.cause(ctx)
	}
}

// sendLarge sends a file block by block. One that changes meanwhile is begun once more.
func (s *sender) sendLarge(ctx context.Context, e *move.Entry) error {
	defer s.pack.busy.Done()
	err := s.attempt(ctx, e)
	if errors.Is(err, move.ErrChanged) {
		s.rep.Count(func(m *move.Summary) { m.Retried++ })
		err = s.attempt(ctx, e)
	}
	if errors.Is(err, move.ErrMoved) {
		return nil
	}
	var own *ownError
	if errors.As(err, &own) || errors.Is(err, move.ErrChanged) {
		s.rep.Lose(move.Failed, e.Path, "%v", err)
		return nil
	}
	return err
}

// ownError concerns one file, and leaves the run as it is.
type ownError struct{ err error }

// Error implements error.
func (e *ownError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *ownError) Unwrap() error { return e.err }

func (s *sender) attempt(ctx context.Context, e *move.Entry) (err error) {
	open, err := s.src.Open(ctx, e)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &ownError{err}
	}
	defer func() { _ = open.Close() }() // it was only read
	f := s.register(open.Entry())
	defer s.forget(f)
	f.open, f.leaves = open, map[int64]move.Hash{}
	m := fileMessage{f.id, f.entry}.append(nil)
	if len(m) > maxMeta {
		return &ownError{fmt.Errorf("its name and attributes take %d bytes, more than one message holds", len(m))}
	}
	s.made.Add(1)
	if err := s.control.send(frame{kind: kindBegin, meta: m}); err != nil {
		return err
	}
	var have haveMessage
	select {
	case have = <-f.have:
	case <-ctx.Done():
		return s.cause(ctx)
	}
	switch {
	case have.sink:
		return &farError{text: have.failed, sink: true}
	case have.failed != "", have.same: // the receiver has reported and counted it
		return nil
	}
	return f.send(ctx, have.leaves)
}

// send sends the blocks that the receiver has not, and ends the file.
func (f *sentFile) send(ctx context.Context, have []move.Leaf) error {
	err := f.sendBlocks(ctx, have)
	if werr := f.settled(ctx); werr != nil {
		return werr
	}
	f.mu.Lock()
	err = errors.Join(err, f.err)
	failed := f.failed
	f.mu.Unlock()
	if err == nil && !failed {
		err = f.open.Changed()
		if err != nil && !errors.Is(err, move.ErrChanged) {
			err = &ownError{err}
		}
	}
	if ctx.Err() != nil {
		return f.s.cause(ctx)
	}
	if err != nil || failed {
		return errors.Join(f.abort(ctx, failed || !errors.Is(err, move.ErrChanged) && !errors.Is(err, move.ErrMoved)), err)
	}
	return f.commit(ctx, have)
}

// sendBlocks asks for every block that is not in have.
func (f *sentFile) sendBlocks(ctx context.Context, have []move.Leaf) error {
	for at := int64(0); ; {
		i, err := f.open.Next(at)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &ownError{err}
		}
		at = i + 1
		if _, found := slices.BinarySearchFunc(have, i, func(l move.Leaf, i int64) int { return int(min(1, max(-1, l.Index-i))) }); found {
			continue
		}
		if more, err := f.ask(ctx, i); err != nil || !more {
			return err
		}
	}
}

// ask has a block read and sent; more is false once the file has failed.
func (f *sentFile) ask(ctx context.Context, index int64) (more bool, err error) {
	f.mu.Lock()
	over := f.failed || f.err != nil
	f.mu.Unlock()
	if over {
		return false, nil
	}
	f.left.Add(1)
	select {
	case f.s.jobs <- job{f, index}:
		return true, nil
	case <-ctx.Done():
		f.left.Done()
		return false, f.s.cause(ctx)
	}
}

// settled waits until all blocks that were asked for were sent.
func (f *sentFile) settled(ctx context.Context) error {
	all := make(chan struct{})
	go func() { f.left.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		return f.s.cause(ctx)
	}
}

// abort gives the file up, and waits until the receiver has done so too.
func (f *sentFile) abort(ctx context.Context, keep bool) error {
	m := pairMessage{a: f.id}
	if keep {
		m.b = 1
	}
	f.mu.Lock()
	answered := f.failed // its answer came, or is on its way, by itself
	f.mu.Unlock()
	if err := f.s.control.send(frame{kind: kindAbort, meta: m.append(nil)}); err != nil || answered {
		return err
	}
	_, err := f.ended(ctx)
	return err
}

// commit ends the file. Blocks that did not arrive whole are sent again meanwhile.
func (f *sentFile) commit(ctx context.Context, have []move.Leaf) error {
	blocks := uint64(len(f.leaves))
	all := slices.Clone(have)
	for i, h := range f.leaves {
		all = append(all, move.Leaf{Index: i, Hash: h})
	}
	m := commitMessage{f.id, blocks, move.Root(f.entry.Size, slices.Values(sorted(all)))}
	if err := f.s.control.send(frame{kind: kindCommit, meta: m.append(nil)}); err != nil {
		return err
	}
	tries := map[int64]int{}
	for {
		select {
		case d := <-f.done:
			if d.outcome == outcomeSink {
				return &farError{text: d.text, sink: true}
			}
			return nil // a failure is in the receiver's report
		case i := <-f.naks:
			if _, sent := f.leaves[i]; !sent {
				return errMessage
			}
			if tries[i]++; tries[i] > resends {
				return errors.Join(f.abort(ctx, true), &ownError{fmt.Errorf("block %d arrived with another hash %d times", i, tries[i])})
			}
			if _, err := f.ask(ctx, i); err != nil {
				return err
			}
			if err := f.settled(ctx); err != nil {
				return err
			}
			if f.err != nil {
				return errors.Join(f.abort(ctx, false), f.err)
			}
		case <-ctx.Done():
			return f.s.cause(ctx)
		}
	}
}

// read reads blocks until there are no more.
func (s *sender) read(ctx context.Context) error {
	for {
		select {
		case j, more := <-s.jobs:
			if !more {
				return nil
			}
			if err := s.readBlock(ctx, j); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *sender) readBlock(ctx context.Context, j job) error {
	buf := s.pool.take(MaxData)
	s.stats.Read.Begin()
	b, err := j.f.open.Read(ctx, j.index, *buf)
	s.stats.Read.End()
	if err == nil {
		err = j.f.keep(b)
	}
	if err != nil || len(b.Extents) == 0 { // nothing is there any more: not sent
		j.f.mu.Lock()
		if j.f.err == nil && err != nil {
			j.f.err = err
			if !errors.Is(err, move.ErrChanged) {
				j.f.err = &ownError{err}
			}
		}
		j.f.mu.Unlock()
		s.pool.give(buf)
		j.f.left.Done()
		return nil
	}
	o := outgoing{frame{kindBlock, blockMessage{j.f.id, b}.append(nil), b.Data}, buf, j.f.left.Done}
	select {
	case s.out <- o:
		return nil
	case <-ctx.Done():
		o.sent()
		return nil
	}
}

// keep notes the hash of a block; one that is read again must be what it was.
func (f *sentFile) keep(b move.Block) error {
	if len(b.Extents) == 0 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if before, ok := f.leaves[b.Index]; ok && before != b.Hash {
		return move.ErrChanged
	}
	f.leaves[b.Index] = b.Hash
	return nil
}

// packer gathers small files.
type packer struct {
	s    *sender
	busy *sync.WaitGroup

	mu    sync.Mutex
	files []byte // what they are
	n     int
	buf   *[]byte
	size  int
}

// grown sends a file that is not small any more.
func (s *sender) grown(ctx context.Context, e *move.Entry) error {
	s.pack.busy.Add(1)
	return s.sendLarge(ctx, e)
}

// add puts a file into the pack that is being filled.
func (k *packer) add(ctx context.Context, f packed) error {
	var space [512]byte // enough for most, and no garbage
	about := appendPacked(space[:0], f)
	if len(about) > maxMeta/2 {
		k.s.rep.Lose(move.Failed, f.entry.Path, "its name and attributes take %d bytes, more than one message holds", len(about))
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.n > 0 && (len(k.files)+len(about) > maxMeta/2 || k.size+len(f.block.Data) > move.PackSize || k.n >= maxPacked) {
		if err := k.send(ctx); err != nil {
			return err
		}
	}
	if k.buf == nil {
		k.buf = k.s.pool.take(move.PackSize)
	}
	k.files = append(k.files, about...)
	k.size += copy((*k.buf)[k.size:], f.block.Data)
	k.n++
	return nil
}

// flush sends the pack that is being filled.
func (k *packer) flush(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.n == 0 {
		return nil
	}
	return k.send(ctx)
}

// send hands the pack to whichever stream is free; k.mu is held.
func (k *packer) send(ctx context.Context) error {
	meta := binary.AppendUvarint(make([]byte, 0, len(k.files)+2*binary.MaxVarintLen64), k.s.made.Load())
	meta = append(binary.AppendUvarint(meta, uint64(k.n)), k.files...)
	o := outgoing{frame{kindPack, meta, (*k.buf)[:k.size]}, k.buf, func() {}}
	k.s.mu.Lock()
	k.s.packs++
	k.s.mu.Unlock()
	k.files, k.n, k.size, k.buf = k.files[:0], 0, 0, nil
	select {
	case k.s.out <- o:
		return nil
	case <-ctx.Done():
		return k.s.cause(ctx)
	}
}
