package move

import (
	"sync"
	"time"
)

// Meter sums how long work goes on, with what has not ended yet: who waits for a slow disk
// is seen while it waits, not only after. The zero value is ready; any goroutine may use it.
type Meter struct {
	mu       sync.Mutex
	base     time.Time     // when it was first used
	under    int           // way at once
	at       time.Duration // since base, until when both sums are
	sum, any time.Duration
}

// Begin notes that one piece of work begins.
func (m *Meter) Begin() { m.change(1) }

// End notes that one that began has ended.
func (m *Meter) End() { m.change(-1) }

func (m *Meter) change(by int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(m.now())
	m.under += by
}

// now is the time since base; m.mu is held. A file has several: where the kernel gives clocks by system calls
// alone, time.Now would cost two each.
func (m *Meter) now() time.Duration {
	if m.base.IsZero() {
		m.base = time.Now()
	}
	return time.Since(m.base)
}

// reach brings the sums up to now; m.mu is held.
func (m *Meter) reach(now time.Duration) {
	if d := now - m.at; m.under > 0 && d > 0 {
		m.sum += time.Duration(m.under) * d
		m.any += d
	}
	m.at = now
}

// Sum is the time of all work until now: what went on at once counts each by itself.
func (m *Meter) Sum() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(m.now())
	return m.sum
}

// Any is the time until now in which any work went on.
func (m *Meter) Any() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(m.now())
	return m.any
}
