package block

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// errStuck is the cause when a request does not come back.
var errStuck = errors.New("the target does not answer")

// Outstanding is a request without a result.
type Outstanding struct {
	Offset int64
	Size   int
	Write  bool
	Sync   bool // has neither offset nor size
	Age    time.Duration
}

// String names it.
func (o Outstanding) String() string {
	age := o.Age.Round(100 * time.Millisecond)
	kind := "read"
	switch {
	case o.Sync:
		return fmt.Sprintf("a sync for %v", age)
	case o.Write:
		kind = "write"
	}
	return fmt.Sprintf("a %s of %d bytes at offset %d for %v", kind, o.Size, o.Offset, age)
}

// StuckError says that a target did not answer in time, and names what is out.
type StuckError struct {
	After time.Duration
	// Doing is what was done other than requests of a run; empty: those.
	Doing string
	Out   []Outstanding
}

// named is how many requests a message has, the oldest first.
const named = 4

// Error names the oldest requests, and says how many there are.
func (e *StuckError) Error() string {
	if len(e.Out) == 0 {
		return fmt.Sprintf("%s: %v within %v", e.Doing, errStuck, e.After)
	}
	var parts []string
	for _, o := range e.Out[:min(len(e.Out), named)] {
		parts = append(parts, o.String())
	}
	if more := len(e.Out) - named; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	are := "requests are"
	if len(e.Out) == 1 {
		are = "request is"
	}
	return fmt.Sprintf("%v within %v: %d %s out: %s", errStuck, e.After, len(e.Out), are, strings.Join(parts, ", "))
}

// Unwrap tells that the target does not answer.
func (e *StuckError) Unwrap() error { return errStuck }

// patience is how long to wait before looking whether a request is stuck.
func (w *worker) patience(time.Duration) time.Duration { return min(w.stuckAfter(), time.Second) }

func (w *worker) stuckAfter() time.Duration {
	after := w.spec.stuckAfter()
	if w.stopped {
		after = min(after, stoppedStuck)
	}
	return after
}

// StuckAfter is how long a request may take where nobody says.
const StuckAfter = time.Minute

func (s Spec) stuckAfter() time.Duration {
	if s.Stuck == 0 {
		return StuckAfter
	}
	return s.Stuck
}

func (w *worker) stuck(now time.Duration) error {
	after := w.stuckAfter()
	for i := range w.slots {
		if w.slots[i].busy && now-w.slots[i].started > after {
			return &StuckError{After: after, Out: w.out(now)}
		}
	}
	return nil
}

// out are the requests in flight. It is garbage, which the loop must not make: only
// for a run that is over.
func (w *worker) out(now time.Duration) (out []Outstanding) {
	for _, s := range w.slots {
		if s.busy {
			out = append(out, Outstanding{Offset: int64(w.spec.From) + s.offset, Size: s.size, Write: s.write, Sync: s.sync, Age: now - s.started})
		}
	}
	return out
}

// toQueue enters the queue.
func (w *worker) toQueue(wait int, limit time.Duration) error {
	w.mu.Unlock()
	defer w.mu.Lock()
	return w.queue.Enter(wait, limit)
}

// watch looks after threads that the target does not let go of: one in pread or
// pwrite cannot be called back, nor one that hands requests over to a full device.
type watch struct {
	spec    Spec
	mu      sync.Mutex
	workers []*worker
}

func (g *watch) add(w *worker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.workers = append(g.workers, w)
}

const (
	// watchEvery is how often the threads are looked after.
	watchEvery = 200 * time.Millisecond
	// selfNotice is what a thread with a ring has to notice by itself.
	selfNotice = 3 * time.Second
)

// wait returns what the threads ended with, or which requests they are held in; these
// threads are left behind, with all that is theirs.
func (g *watch) wait(ctx context.Context, threads *errgroup.Group) (left *StuckError, err error) {
	ended := make(chan error, 1)
	go func() { ended <- threads.Wait() }()
	ticker := time.NewTicker(min(watchEvery, g.spec.stuckAfter()))
	defer ticker.Stop()
	var told time.Time
	for {
		select {
		case err := <-ended:
			return nil, err
		case now := <-ticker.C:
			after := g.spec.stuckAfter()
			if ctx.Err() != nil {
				if told.IsZero() {
					told = now
				}
				if after > stoppedStuck && now.Sub(told) >= stoppedStuck {
					after = stoppedStuck
				}
			}
			if g.spec.Engine != Calls {
				after += selfNotice
			}
			if out := g.held(after); len(out) > 0 {
				left := &StuckError{After: after, Out: out}
				left.sort()
				return left, nil
			}
		}
	}
}

// held are the requests that threads are held in, once one of them is so old.
func (g *watch) held(after time.Duration) (out []Outstanding) {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := false
	for _, w := range g.workers {
		if !w.mu.TryLock() {
			continue // at work
		}
		for _, o := range w.out(w.clock()) {
			out, old = append(out, o), old || o.Age > after
		}
		w.mu.Unlock()
	}
	if !old {
		return nil
	}
	return out
}

// gatherStuck is one error of what all threads have out; nil: none is stuck.
func gatherStuck(outs []outcome) *StuckError {
	var all *StuckError
	for _, o := range outs {
		if o.stuck == nil {
			continue
		}
		if all == nil {
			all = &StuckError{After: o.stuck.After}
		}
		all.After = max(all.After, o.stuck.After)
		all.Out = append(all.Out, o.stuck.Out...)
	}
	if all != nil {
		all.sort()
	}
	return all
}

// sort puts the oldest first.
func (e *StuckError) sort() {
	slices.SortStableFunc(e.Out, func(a, b Outstanding) int { return cmp.Compare(b.Age, a.Age) })
}

// Within calls f, and gives up on it when it takes longer, or when ctx ends and it
// takes longer than that may: opening, measuring and removing a file of a server that
// is gone cannot be called back. f must then share nothing with who goes on. doing is
// how a message names it.
//
// Errors are f's, or a *StuckError.
func Within(ctx context.Context, after time.Duration, doing string, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	case <-ctx.Done():
		timer.Reset(min(after, stoppedStuck))
		select {
		case err := <-done:
			return err
		case <-timer.C:
			after = min(after, stoppedStuck)
		}
	}
	return &StuckError{After: after, Doing: doing}
}
