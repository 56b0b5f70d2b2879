package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/kernel"
	"linerate/internal/store"
	"linerate/internal/store/history"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// keeper writes a view's records to the history, beside the view: a disk that is full or slow
// holds nothing up.
type keeper struct {
	env   app.Env
	store *history.Store
	in    chan []past.Record               // one, or late ones of a path
	say   func(format string, args ...any) // that the history stops and goes on; nil: to nobody

	gather past.Gather

	mu     sync.Mutex
	failed string // why the last record was not kept; empty: it was
	lost   int    // records that were not kept
	runs   []runs.Summary
	looked time.Time
}

// LeastHistory is the least bound on a history that makes sense.
const LeastHistory = 16 * unit.MiB

// mostWaiting is how many records may wait for the disk: ten minutes of them.
const mostWaiting = 60

// lateAtOnce is how many late records are written at once, which become a file.
const lateAtOnce = 10_000

// newKeeper opens the history of a set of hosts.
func newKeeper(e app.Env, set string, limit unit.Bytes) (*keeper, error) {
	data, err := store.DataDir(e.Getenv)
	if err != nil {
		return nil, err
	}
	s, err := history.Open(data, set, limit, e.Now())
	if errors.Is(err, kernel.ErrLocked) {
		return nil, fmt.Errorf("another live page keeps the history of %s: %w", set, err)
	}
	if err != nil {
		return nil, err
	}
	return &keeper{env: e, store: s, in: make(chan []past.Record, mostWaiting), gather: past.Gather{Span: history.Finest}}, nil
}

// show takes the pictures of one moment.
func (k *keeper) show(all []watch.Picture) {
	k.hand(k.gather.Add(all))
}

// hand hands records to the writer, which may be slow.
func (k *keeper) hand(all []past.Record) {
	for _, r := range all {
		select {
		case k.in <- []past.Record{r}:
		default:
			k.note(errors.New("the disk is too slow"))
		}
	}
}

// late takes what a path would have been shown as while it was stale. It waits for the writer: who
// calls it holds nothing up.
func (k *keeper) late(run []watch.Picture) {
	if all := past.Late(history.Finest, run); len(all) > 0 {
		k.in <- all
	}
}

// run writes until ctx ends, and then what is left.
func (k *keeper) run(ctx context.Context) error {
	for {
		select {
		case all := <-k.in:
			k.write(all)
		case <-ctx.Done():
			for len(k.in) > 0 {
				k.write(<-k.in)
			}
			return k.store.Close()
		}
	}
}

// write writes records, and late ones with those late ones that wait already: of an outage there are
// as many as paths.
func (k *keeper) write(all []past.Record) {
	if !all[0].Late {
		k.note(k.store.Add(all[0]))
		return
	}
	var rest [][]past.Record
	for len(k.in) > 0 && len(all) < lateAtOnce {
		if next := <-k.in; next[0].Late {
			all = append(all, next...)
		} else {
			rest = append(rest, next)
		}
	}
	for _, r := range rest {
		k.note(k.store.Add(r[0]))
	}
	k.note(k.store.AddLate(all))
}

// last hands the record that is still incomplete to the writer once the view has ended.
func (k *keeper) last() {
	k.hand(k.gather.Close())
}

func (k *keeper) note(err error) {
	k.mu.Lock()
	before := k.failed
	k.failed = ""
	if err != nil {
		k.failed = failure.FirstLine(err)
		k.lost++
	}
	failed, lost := k.failed, k.lost
	k.mu.Unlock()
	switch {
	case k.say == nil || (before == "") == (failed == ""):
	case failed != "":
		k.say("history is not kept at present: %s; what is live goes on", failed)
	default:
		k.say("history is kept again; %s of 10 s not kept since the start", unit.Count(lost, "record"))
	}
}

// Between implements web.Past.
func (k *keeper) Between(from, to time.Time, width time.Duration) (history.Read, error) {
	return k.store.Between(from, to, width)
}

// Kept implements web.Past.
func (k *keeper) Kept() string {
	is, limit := k.store.Size()
	k.mu.Lock()
	defer k.mu.Unlock()
	text := fmt.Sprintf("history: %v of at most %v; 10 s for 7 days, 5 min for 60 days, 1 h for 400 days", is, limit)
	if k.failed != "" {
		text = "history is not kept at present: " + k.failed
	}
	if k.lost > 0 {
		text += fmt.Sprintf("; %s not kept", unit.Count(k.lost, "record"))
	}
	return text
}

// runsAge is for how long the list of runs is not read again.
const runsAge = time.Minute

// Runs implements web.Past.
func (k *keeper) Runs(from, to time.Time) ([]watch.Mark, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.env.Now(); now.Sub(k.looked) > runsAge {
		_, all, err := runs.List(k.env)
		if err != nil {
			return nil, err
		}
		k.runs, k.looked = all, now
	}
	return runs.Marks(k.runs, from, to), nil
}
