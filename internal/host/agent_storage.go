package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"linerate/internal/load/storage"
)

// StorageRole is the hidden subcommand of a worker that puts load on storage.
const StorageRole = "storage-worker"

// Bounds of an agent's storage workers: how many, and the longest line of one,
// which has the histograms and seconds of a run.
const (
	maxStores       = 8
	maxStorageEvent = 12 << 20
	storageStop     = 20 * time.Second // to remove what it made
)

// storageProc is a storage worker and what it has said.
type storageProc struct {
	process
	shift time.Duration // the agent's clock minus the worker's

	mu     sync.Mutex
	rest   []byte
	events []storage.Event // without Seen
	seen   storage.Work
	news   chan struct{} // closed and replaced with each event
}

func (a *agent) startStorage(_ context.Context, t storage.Task) (idResult, error) {
	t.V = storage.Version
	if err := t.Check(); err != nil {
		return idResult{}, fmt.Errorf("start load on storage: %w", err)
	}
	w := &storageProc{news: make(chan struct{}), shift: time.Until(a.o.Now())}
	if err := w.spawn(slices.Concat(a.o.Self, []string{StorageRole}), t, w, a.o.Log, storageStop); err != nil {
		return idResult{}, err
	}
	id, err := a.stores.add(w)
	if err != nil {
		w.stop()
		return idResult{}, err
	}
	return idResult{id}, nil
}

// Write takes the worker's stdout apart. A line that is too long or no event
// ends the worker.
func (w *storageProc) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte{'\n'})
		if !ok {
			if len(w.rest) > maxStorageEvent {
				return 0, fmt.Errorf("read storage event: longer than %d bytes", maxStorageEvent)
			}
			return len(b), nil
		}
		var e storage.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return 0, fmt.Errorf("read storage event: %w", err)
		}
		w.rest = rest
		if e.Kind == storage.Seen && e.Work != nil {
			w.seen = storage.Work{Requests: e.Work.Requests, Bytes: e.Work.Bytes, Longest: max(w.seen.Longest, e.Work.Longest), HeldBy: e.Work.HeldBy}
			continue
		}
		e.At = e.At.Add(w.shift)
		w.events = append(w.events, e)
		close(w.news)
		w.news = make(chan struct{})
	}
}

// look returns the first event of a kind in a phase, or Failed or Over, which
// nothing follows.
func (w *storageProc) look(k storage.Kind, phase int) (e storage.Event, found bool, news chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == k && e.Phase == phase || e.Kind == storage.Failed || e.Kind == storage.Over {
			return e, true, nil
		}
	}
	return storage.Event{}, false, w.news
}

// storageEvent waits for an event; the caller bounds it.
func (a *agent) storageEvent(ctx context.Context, p eventParams) (storage.Event, error) {
	w, err := a.stores.get(p.ID)
	if err != nil {
		return storage.Event{}, err
	}
	for {
		e, found, news := w.look(p.Kind, p.Phase)
		if found {
			return e, nil
		}
		select {
		case <-news:
		case <-w.ended:
			if e, found, _ := w.look(p.Kind, p.Phase); found { // its last words
				return e, nil
			}
			return storage.Event{}, w.why()
		case <-ctx.Done():
			return storage.Event{}, fmt.Errorf("wait for load on storage: %w", context.Cause(ctx))
		}
	}
}

func (a *agent) armStorage(_ context.Context, p armParams) (none, error) {
	w, err := a.stores.get(p.ID)
	if err != nil {
		return none{}, err
	}
	return none{}, w.tell(storage.AtLine(p.At.Add(-w.shift)))
}

func (w *storageProc) tell(line string) error {
	if _, err := io.WriteString(w.stdin, line); err != nil {
		return fmt.Errorf("tell the load on storage: %w", err)
	}
	return nil
}

// storageSeen is what was completed so far, and the longest latency since it was
// last asked for.
func (a *agent) storageSeen(_ context.Context, p idParams) (storage.Work, error) {
	w, err := a.stores.get(p.ID)
	if err != nil {
		return storage.Work{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen.Longest = 0
	return seen, nil
}

// stopStorage has the phase end with what it has.
func (a *agent) stopStorage(_ context.Context, p idParams) (none, error) {
	w, err := a.stores.get(p.ID)
	if err != nil {
		return none{}, err
	}
	return none{}, w.tell(storage.StopLine())
}

// endStorage is harmless for a worker that is gone.
func (a *agent) endStorage(_ context.Context, p idParams) (none, error) {
	if w, ok := a.stores.remove(p.ID); ok {
		w.stop()
	}
	return none{}, nil
}
