package block

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// fillBlock is the size of the requests that fill an area, and fillSync how many of
// them are made durable together: what a filling leaves behind must not take a host's
// memory, or all of a small limit of it.
const (
	fillBlock = unit.MiB
	fillSync  = 32
)

// Fill writes parts of a file once, in order, with data that neither compresses
// nor repeats, and makes it durable. Give it the Holes of a Target: what lies
// elsewhere is not touched. The Spec's Run names the filling in its stamps. A
// ctx that ends is an error: the parts are not filled then.
func Fill(ctx context.Context, s Spec, holes []Span) error {
	for _, h := range holes {
		whole := h.Size / fillBlock * fillBlock
		if err := fillOne(ctx, s, Span{h.From, whole}, fillBlock); err != nil {
			return err
		}
		// What is left is less than a request.
		if err := fillOne(ctx, s, Span{h.From + whole, h.Size - whole}, h.Size-whole); err != nil {
			return err
		}
	}
	return nil
}

func fillOne(ctx context.Context, run Spec, part Span, size unit.Bytes) (err error) {
	if part.Size == 0 {
		return nil
	}
	s := Spec{Path: run.Path, From: part.From, Threads: 1, Depth: 8, Engine: Auto, Sync: After, SyncEvery: fillSync, Seed: run.Seed, Run: run.Run, Duration: 24 * time.Hour,
		Requests: int64(part.Size / size),
		Shape:    shape.Shape{Pattern: shape.Sequential, Sizes: []shape.SizeShare{{Size: size, Share: 1}}, Area: part.Size, Arrivals: shape.Closed}}
	t, s, err := Open(s, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	r, err := Run(ctx, s, t)
	switch {
	case err != nil:
		return fmt.Errorf("fill %s: %w", s.Path, err)
	case r.Failed > 0:
		return fmt.Errorf("fill %s: %d writes failed, the first: %v", s.Path, r.Failed, r.Failures[0])
	}
	if no := t.file.sync(false); no < 0 {
		return fmt.Errorf("fill %s: %w", s.Path, errorOf(-int(no)))
	}
	return nil
}
