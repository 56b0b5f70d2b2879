//go:build !linux

package tree

import (
	"context"
	"errors"

	"linerate/internal/move"
)

// Tree is a move.Source of one or several tops.
type Tree struct{}

// Open refuses: what keeps a copy inside its tree is known of Linux alone.
func Open([]Top, Options, *move.Report) (*Tree, error) {
	return nil, errors.New("copy reads trees on Linux alone for now")
}

// Device is the number of the block device that the first top lies on.
func (t *Tree) Device() string { return "" }

// Close closes the tops.
func (t *Tree) Close() error { return nil }

// Unread implements move.Keeper.
func (t *Tree) Unread(context.Context) (int64, error) { return 0, errors.ErrUnsupported }

// Begin does nothing: there is no tree.
func (t *Tree) Begin() {}

// Scan implements move.Source.
func (t *Tree) Scan(context.Context, func(*move.Entry) error) error { return errors.ErrUnsupported }

// Open implements move.Source.
func (t *Tree) Open(context.Context, *move.Entry) (move.SourceFile, error) {
	return nil, errors.ErrUnsupported
}

// Lookup is the entry at a path of the target.
func (t *Tree) Lookup(string) (*move.Entry, error) { return nil, errors.ErrUnsupported }

// Keeps implements move.Keeper.
func (t *Tree) Keeps(context.Context, []move.Name) ([]bool, error) { return nil, errors.ErrUnsupported }
