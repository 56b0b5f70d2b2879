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

// Device is the number of the block device that the target lies on.
func (p *Place) Device() string { return "" }

// Unlocked tells that the target's file system has no locks.
func (p *Place) Unlocked() bool { return false }

// Decide says what becomes of an entry.
func (p *Place) Decide(*move.Entry) (Action, error) { return New, errors.ErrUnsupported }

// Amiss says what a copy would set of what is there.
func (p *Place) Amiss(*move.Entry) ([]string, error) { return nil, errors.ErrUnsupported }

// Make implements move.Sink.
func (p *Place) Make(context.Context, *move.Entry) error { return errors.ErrUnsupported }

// Put implements move.Sink.
func (p *Place) Put(context.Context, *move.Entry, move.Block) error { return errors.ErrUnsupported }

// Begin implements move.Sink.
func (p *Place) Begin(context.Context, *move.Entry) (move.SinkFile, move.Have, error) {
	return nil, move.Have{}, errors.ErrUnsupported
}

// Find implements move.Finder.
func (p *Place) Find(context.Context, []*move.Entry) ([]move.Presence, error) {
	return nil, errors.ErrUnsupported
}

// Finish implements move.Sink.
func (p *Place) Finish(context.Context) error { return errors.ErrUnsupported }

// Doomed is an entry that is to be deleted.
type Doomed struct {
	Path string
	Kind move.Kind
	node move.Node
}

// Extra lists what the target holds and the source does not keep.
func (p *Place) Extra(context.Context, []string, int, move.Keeper) ([]Doomed, error) {
	return nil, errors.ErrUnsupported
}

// Remove deletes what Extra listed.
func (p *Place) Remove(context.Context, []Doomed) error { return errors.ErrUnsupported }
