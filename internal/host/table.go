package host

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// table assigns ids to what runs, up to a maximum.
type table[T any] struct {
	what string
	max  int

	mu     sync.Mutex
	next   int
	m      map[int]T
	closed bool
}

// add is refused at the maximum, and once drain was called.
func (t *table[T]) add(v T) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, fmt.Errorf("start one of the %s: the agent is ending", t.what)
	}
	if len(t.m) >= t.max {
		return 0, fmt.Errorf("start one of the %s: %d run already", t.what, t.max)
	}
	if t.m == nil {
		t.m = map[int]T{}
	}
	t.next++
	t.m[t.next] = v
	return t.next, nil
}

func (t *table[T]) get(id int) (T, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.m[id]
	if !ok {
		return v, fmt.Errorf("find number %d of the %s: there is none", id, t.what)
	}
	return v, nil
}

func (t *table[T]) remove(id int) (T, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, ok := t.m[id]
	delete(t.m, id)
	return v, ok
}

// drain empties the table for good.
func (t *table[T]) drain() []T {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	out := slices.Collect(maps.Values(t.m))
	t.m = nil
	return out
}
