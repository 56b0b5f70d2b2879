package mover

import (
	"context"

	"linerate/internal/move"
	"linerate/internal/move/route"
	"linerate/internal/move/tree"
)

// count walks the source once more beside the copy, so that whoever watches knows how much is
// left. A walk that fails has counted less: the copy itself says what cannot be read.
func (m *mover) count(ctx context.Context) {
	from, err := route.SourceOf(move.Strings(m.task.Read))
	if err != nil {
		return
	}
	Count(ctx, from.Tops, move.Strings(m.task.Exclude), func(t Total) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.total = &t
	})
}

// countedAtOnce entries are told of together.
const countedAtOnce = 1000

// Count counts the files of a source, and tells now and then, and in the end, how many.
func Count(ctx context.Context, tops []tree.Top, exclude []string, tell func(Total)) {
	t, err := tree.Open(tops, tree.Options{Exclude: exclude, Plan: true}, move.NewReport(nil))
	if err != nil {
		return
	}
	defer func() { _ = t.Close() }() // it was only looked at
	var sum Total
	err = t.Scan(ctx, func(e *move.Entry) error {
		if e.Kind == move.File && !e.Linked {
			sum.Files++
			sum.Bytes += e.Size
			if sum.Files%countedAtOnce == 0 {
				tell(sum)
			}
		}
		return nil
	})
	sum.Whole = err == nil
	tell(sum)
}
