package wire

import (
	"context"
	"errors"
	"io"

	"linerate/internal/move"
)

// openAhead is how many small files one reader has open at most.
const openAhead = 16

// smallFile is a small file that is to be sent.
type smallFile struct {
	entry   *move.Entry
	present bool            // the target has it
	open    move.SourceFile // nil: it is opened in its turn
}

// sendSmalls sends the small files that come, some at a time: the system reads all of them from the
// disk meanwhile, so that a reader seldom waits, and few threads have to be woken.
func (s *sender) sendSmalls(ctx context.Context, in <-chan *move.Entry) error {
	buf := make([]byte, move.PackSize)
	some := make([]smallFile, 0, openAhead)
	for e := range in {
		some = s.gather(ctx, append(some[:0], smallFile{entry: e, present: s.isPresent(e)}), in)
		for i, f := range some {
			if err := s.sendSmall(ctx, f, buf); err != nil {
				return errors.Join(err, closeAll(some[i+1:]))
			}
		}
	}
	return nil
}

// gather adds to the file that came some of those that wait behind it, and opens all ahead, up to one that
// is to be opened in its turn. It leaves as many to each other reader: of few files every reader opens its own.
func (s *sender) gather(ctx context.Context, some []smallFile, in <-chan *move.Entry) []smallFile {
	a, can := s.src.(move.Ahead)
	n := len(in) / smallReaders
	if !can || n == 0 {
		return some
	}
	s.stats.ReadSmall.Begin()
	defer s.stats.ReadSmall.End()
	for ; opensAhead(ctx, a, &some[len(some)-1]) && n > 0 && len(some) < openAhead; n-- {
		select {
		case e, more := <-in:
			if !more {
				return some
			}
			some = append(some, smallFile{entry: e, present: s.isPresent(e)})
		default:
			return some // another reader was first
		}
	}
	return some
}

// opensAhead opens a file ahead, where its data are needed; false: it is opened in its turn.
func opensAhead(ctx context.Context, a move.Ahead, f *smallFile) bool {
	if f.present {
		return true
	}
	f.open = a.OpenAhead(ctx, f.entry)
	return f.open != nil
}

// closeAll closes what will not be read.
func closeAll(some []smallFile) error {
	var errs []error
	for _, f := range some {
		if f.open != nil {
			errs = append(errs, f.open.Close())
		}
	}
	return errors.Join(errs...)
}

// sendSmall reads a small file into buf and packs it. One that changes meanwhile is read once more.
func (s *sender) sendSmall(ctx context.Context, small smallFile, buf []byte) error {
	defer s.pack.busy.Done()
	e := small.entry
	if small.present {
		if done, err := s.sendPresent(ctx, e); done || err != nil {
			return err
		}
	}
	f, err := s.readSmall(ctx, small, buf)
	if small.open != nil && errors.Is(err, move.ErrChanged) { // while it waited: that is no try
		f, err = s.readSmall(ctx, smallFile{entry: e}, buf)
	}
	if errors.Is(err, move.ErrChanged) {
		s.rep.Count(func(m *move.Summary) { m.Retried++ })
		f, err = s.readSmall(ctx, smallFile{entry: e}, buf)
	}
	if err == nil && f.entry.Size > move.PackSize {
		return s.grown(ctx, f.entry)
	}
	if ctx.Err() != nil {
		return s.cause(ctx)
	}
	if err != nil {
		s.rep.Lose(move.Failed, e.Path, "%v", err)
		return nil
	}
	return s.pack.add(ctx, f)
}

func (s *sender) readSmall(ctx context.Context, small smallFile, buf []byte) (p packed, err error) {
	s.stats.ReadSmall.Begin()
	defer s.stats.ReadSmall.End()
	f := small.open
	if f == nil {
		if f, err = s.src.Open(ctx, small.entry); err != nil {
			return p, err
		}
	}
	defer func() { _ = f.Close() }() // it was only read
	p.entry = f.Entry()
	if p.entry.Size > move.PackSize {
		return p, nil
	}
	switch i, err := f.Next(0); {
	case err == nil:
		if p.block, err = f.Read(ctx, i, buf); err != nil {
			return p, err
		}
	case !errors.Is(err, io.EOF):
		return p, err
	}
	return p, f.Changed()
}
