package load

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	requests "linerate/internal/load/block" // block is this package's size of a write
	"linerate/internal/load/shape"
)

// BlockSpec is what a Block is told: requests on one file or device, as many at
// once as Threads × Depth, each made when one before it is done.
type BlockSpec struct {
	Path    string            `json:"path"` // absolute
	Pattern shape.Pattern     `json:"pattern"`
	Theta   float64           `json:"theta,omitempty"`      // of Zipf
	Jump    float64           `json:"jump_share,omitempty"` // of Seek
	Hot     []shape.Band      `json:"hot,omitempty"`
	Read    int               `json:"read"` // percent of the requests
	Sizes   []shape.SizeShare `json:"sizes"`
	Threads int               `json:"threads"`
	Depth   int               `json:"depth"`
	Direct  bool              `json:"direct,omitempty"` // past the page cache
	// Destroy is Path again where what is on it may be overwritten.
	Destroy string `json:"destroy,omitempty"`
	Seed    uint64 `json:"seed"` // of the offsets
}

func (b *BlockSpec) check() error {
	switch {
	case b == nil:
		return errors.New("a block load needs a file or device")
	case !filepath.IsAbs(b.Path):
		return fmt.Errorf("%q is no absolute path", b.Path)
	case b.Read < 0 || b.Read > 100:
		return fmt.Errorf("%d%% of the requests read, want 0 to 100", b.Read)
	case b.Threads < 1 || b.Threads > requests.MaxThreads || b.Depth < 1 || b.Depth > requests.MaxDepth:
		return fmt.Errorf("%d threads with %d requests each, want 1 to %d with 1 to %d", b.Threads, b.Depth, requests.MaxThreads, requests.MaxDepth)
	}
	return nil
}

// BlockResult is what a Block did.
type BlockResult struct {
	Summary requests.Summary  `json:"summary"`
	Seconds []requests.Second `json:"per_second"`
}

// blockLoad is a Block at work.
type blockLoad struct {
	spec   BlockSpec
	warmup time.Duration
	length time.Duration // warm-up included
	run    requests.Spec
	target *requests.Target
}

func (b *blockLoad) prepare(context.Context) (Alone, error) {
	number, err := requests.RunNumber()
	if err != nil {
		return Alone{}, err
	}
	s := requests.Spec{
		Path: b.spec.Path, Threads: b.spec.Threads, Depth: b.spec.Depth, Engine: requests.Auto, Direct: b.spec.Direct, Sync: requests.None,
		Warmup: b.warmup, Duration: b.length - b.warmup, Seed: b.spec.Seed, Run: number,
		Shape: shape.Shape{Pattern: b.spec.Pattern, Theta: b.spec.Theta, Jump: b.spec.Jump, Hot: b.spec.Hot, Read: float64(b.spec.Read) / 100,
			Arrivals: shape.Closed, Sizes: b.spec.Sizes},
	}
	t, s, err := requests.Open(s, b.spec.Destroy)
	if err != nil {
		return Alone{}, err
	}
	b.target, b.run = t, s
	if err := s.Check(); err != nil {
		return Alone{}, err
	}
	if b.spec.Read > 0 {
		holes, err := t.Holes(s)
		if err != nil {
			return Alone{}, err
		}
		if len(holes) > 0 {
			return Alone{}, fmt.Errorf("read %s: parts of it were never written, and reading those costs nothing: linerate load block %s --fill writes them", s.Path, s.Path)
		}
	}
	how := "through the page cache"
	if s.Direct {
		how = "past the page cache"
	}
	return Alone{File: s.Path, Size: int64(t.Size), Block: int64(s.Shape.Largest()),
		Method: fmt.Sprintf("%s requests of %s, %d%% of them reads, %d at once, %s", s.Shape.Pattern, shape.SizesText(s.Shape.Sizes), b.spec.Read, s.Threads*s.Depth, how)}, nil
}

// move ends by the length of the run, not by a time: latencies of requests that
// are out then still count.
func (b *blockLoad) move(ctx context.Context, _ time.Time) (Result, error) {
	r, err := requests.Run(ctx, b.run, b.target)
	if err != nil {
		return Result{}, err
	}
	sum, err := requests.Summarise("block", r, requests.Witness{Size: b.target.Size, Occupied: b.target.Occupied()})
	if err != nil {
		return Result{}, err
	}
	return Result{Bytes: r.ReadBytes + r.WrittenBytes, Window: r.Measured, Block: &BlockResult{sum, r.Seconds}}, nil
}

func (b *blockLoad) close() error {
	if b.target == nil {
		return nil
	}
	return b.target.Close()
}
