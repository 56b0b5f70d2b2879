package worker

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/load/frames"
	"linerate/internal/load/storage"
)

// run does what the task is.
func (w *worker) run(ctx context.Context, t Task) error {
	if t.Load != nil {
		return w.load(ctx, *t.Load)
	}
	h := storage.Hooks{
		Begin:   func(ctx context.Context) error { _, err := w.begin(ctx, load.Up{}); return err },
		Filling: func(path string) { _ = w.emit(Event{Kind: Filling, Text: path}) }, // for people only
		Watch:   w.watch,
	}
	return storage.Limited(t.Memory, h, func(h storage.Hooks) error {
		switch {
		case t.Block != nil:
			return w.block(ctx, *t.Block, h)
		case t.Frames != nil:
			return w.frames(ctx, *t.Frames, h)
		}
		return w.jobs(ctx, *t.Jobs, h)
	})
}

func (w *worker) load(ctx context.Context, s load.Spec) error {
	r, err := s.Run(ctx, load.Stage{
		Listening: func(at netip.AddrPort) error { return w.emit(Event{Kind: Listening, Addr: at}) },
		Begin:     w.begin,
	})
	if err != nil {
		return err
	}
	return w.emit(Event{Kind: Finished, Result: &Result{Load: &r}})
}

// stopped tells whether the load was told to end with what it has.
func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStopped) }

func (w *worker) block(ctx context.Context, t storage.BlockTask, h storage.Hooks) error {
	m, err := storage.Block(ctx, t, h)
	if err != nil && (m.Result.ReadLatency == nil || !stopped(ctx)) {
		return err
	}
	return w.emit(Event{Kind: Finished, Result: &Result{Interrupted: err != nil, Block: &m}})
}

func (w *worker) frames(ctx context.Context, s frames.Spec, h storage.Hooks) error {
	s.Begin = h.Begin
	r, notDirect, err := storage.Frames(ctx, s, h.Filling)
	if err != nil && (len(r.Streams) == 0 || !stopped(ctx)) {
		return err
	}
	return w.emit(Event{Kind: Finished, Result: &Result{Interrupted: err != nil, Frames: &r, NotDirect: notDirect}})
}

func (w *worker) jobs(ctx context.Context, t storage.JobsTask, h storage.Hooks) (err error) {
	r := &storage.Jobs{Hooks: h, Size: t.Size, For: t.For, Destroy: t.Destroy, Fill: t.Fill, Stuck: t.Stuck}
	if t.Dir != "" {
		remove, err := r.MakeRoot(ctx, t.Dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, remove()) }()
	}
	for i, j := range t.Jobs {
		w.phase = i
		m, _, err := r.Run(ctx, j)
		if err != nil {
			return err
		}
		if err := w.emit(Event{Kind: Finished, Result: &Result{Block: &m}}); err != nil {
			return err
		}
	}
	return nil
}

// seenEvery is how often a worker tells what it has completed.
const seenEvery = 500 * time.Millisecond

// watch tells what is completed while the run goes on.
func (w *worker) watch(string, time.Duration) (*block.Progress, func()) {
	seen, over, ended := &block.Progress{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		last := time.Now()
		ticker := time.NewTicker(seenEvery)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
			}
			r, b, longest := seen.Look()
			now := time.Now()
			held := seen.LimitedBy(now.Sub(last))
			last = now
			_ = w.emit(Event{Kind: Seen, Work: &Work{r, b, longest, held}}) // whoever is gone is told by the end of stdin
		}
	}()
	return seen, func() { close(over); <-ended }
}
