//go:build !linux

package place

import (
	"context"
	"errors"

	"linerate/internal/move"
)

// Place is a move.Sink.
type Place struct{}

// Open refuses: what keeps a copy below its directory is known of Linux alone.
func Open(string, Options, *move.Report) (*Place, error) {
	return nil, errors.New("copy writes trees on Linux alone for now")
}

// Close closes the directories.
func (p *Place) Close() error { return nil }

// Decide says what becomes of an entry.
func (p *Place) Decide(*move.Entry) (Action, error) { return New, errors.ErrUnsupported }

// Make implements move.Sink.
func (p *Place) Make(context.Context, *move.Entry) error { return errors.ErrUnsupported }

// Put implements move.Sink.
func (p *Place) Put(context.Context, *move.Entry, move.Block) error { return errors.ErrUnsupported }

// Begin implements move.Sink.
func (p *Place) Begin(context.Context, *move.Entry) (move.SinkFile, move.Have, error) {
	return nil, move.Have{}, errors.ErrUnsupported
}

// Finish implements move.Sink.
func (p *Place) Finish(context.Context) error { return errors.ErrUnsupported }
