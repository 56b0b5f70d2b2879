// Package spool keeps entries that are needed again at the end of a copy, in an unlinked
// temporary file: directories, whose metadata come last, and further names of files. It
// refuses to keep them in memory: a tree may have millions.
package spool

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"linerate/internal/move"
)

// Spool is a list of entries. It is used by one goroutine at a time.
type Spool struct {
	f    *os.File
	w    *bufio.Writer
	size int64
	buf  []byte
}

// Add appends an entry.
func (s *Spool) Add(e *move.Entry) error {
	if s.f == nil {
		f, err := os.CreateTemp("", "linerate-spool-*")
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		s.f, s.w = f, bufio.NewWriterSize(f, 64<<10)
		if err := os.Remove(f.Name()); err != nil {
			return errors.Join(fmt.Errorf("spool: %w", err), s.Close())
		}
	}
	s.buf = move.AppendEntry(s.buf[:0], e)
	n := uint32(len(s.buf))
	s.buf = binary.LittleEndian.AppendUint32(s.buf, n) // behind, so that it can be read from its end
	if _, err := s.w.Write(s.buf); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.size += int64(len(s.buf))
	return nil
}

// Backward calls yield for every entry, the last one first.
func (s *Spool) Backward(yield func(*move.Entry) error) error {
	if s.f == nil {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	var tail [4]byte
	for at := s.size; at > 0; {
		if _, err := s.f.ReadAt(tail[:], at-4); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		n := int64(binary.LittleEndian.Uint32(tail[:]))
		b := make([]byte, n)
		if _, err := s.f.ReadAt(b, at-4-n); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("spool: %w", err)
		}
		e, _, err := move.DecodeEntry(b)
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		if err := yield(e); err != nil {
			return err
		}
		at -= n + 4
	}
	return nil
}

// Close gives the space back; the spool is empty then.
func (s *Spool) Close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	*s = Spool{}
	return err
}
