package move

import (
	"sync"
	"time"
)

// Meter sums how long work goes on, with what has not ended yet: who waits for a slow disk
// is seen while it waits, not only after. The zero value is ready; any goroutine may use it.
type Meter struct {
	mu       sync.Mutex
	under    int       // way at once
	at       time.Time // until when both sums are
	sum, any time.Duration
}

// Begin notes that one piece of work begins.
func (m *Meter) Begin() { m.change(time.Now(), 1) }

// End notes that one that began has ended.
func (m *Meter) End() { m.change(time.Now(), -1) }

func (m *Meter) change(now time.Time, by int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(now)
	m.under += by
}

// reach brings the sums up to now; m.mu is held.
func (m *Meter) reach(now time.Time) {
	if d := now.Sub(m.at); m.under > 0 && d > 0 {
		m.sum += time.Duration(m.under) * d
		m.any += d
	}
	m.at = now
}

// Sum is the time of all work until now: what went on at once counts each by itself.
func (m *Meter) Sum() time.Duration {
	sum, _ := m.look(time.Now())
	return sum
}

// Any is the time until now in which any work went on.
func (m *Meter) Any() time.Duration {
	_, any := m.look(time.Now())
	return any
}

func (m *Meter) look(now time.Time) (sum, any time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reach(now)
	return m.sum, m.any
}
