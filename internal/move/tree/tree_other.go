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

// Close closes the tops.
func (t *Tree) Close() error { return nil }

// Unread is how many entries could not be read.
func (t *Tree) Unread() int64 { return 0 }

// Scan implements move.Source.
func (t *Tree) Scan(context.Context, func(*move.Entry) error) error { return errors.ErrUnsupported }

// Open implements move.Source.
func (t *Tree) Open(context.Context, *move.Entry) (move.SourceFile, error) {
	return nil, errors.ErrUnsupported
}

// Lookup is the entry at a path of the target.
func (t *Tree) Lookup(string) (*move.Entry, error) { return nil, errors.ErrUnsupported }

// Excluded tells whether a path of the target is one that Scan leaves out.
func (t *Tree) Excluded(string, bool) bool { return false }

// Covers tells whether a path of the target lies in a tree that is copied as a whole.
func (t *Tree) Covers(string) bool { return false }
