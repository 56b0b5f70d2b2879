package move

import (
	"context"
	"sync"
	"time"
)

// mostUnused is how much time that no data used is made up for: less than who shares the line would notice.
const mostUnused = 100 * time.Millisecond

// Pacer holds data below a rate, of all who share it together. Data that come late are made up for within
// mostUnused, so that no burst follows a pause. A nil one knows no limit.
type Pacer struct {
	rate int64 // bytes per second
	mu   sync.Mutex
	due  time.Time // when the next byte may go
}

// NewPacer is one of so many bytes per second; 0: no limit, nil.
func NewPacer(rate int64) *Pacer {
	if rate <= 0 {
		return nil
	}
	return &Pacer{rate: rate}
}

// Wait waits until n bytes may go, or returns the error of ctx.
func (p *Pacer) Wait(ctx context.Context, n int) error {
	if p == nil || n == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(p.take(time.Now(), n))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take books n bytes and tells how long they have to wait.
func (p *Pacer) take(now time.Time, n int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if least := now.Add(-mostUnused); p.due.IsZero() {
		p.due = now // nothing is late yet
	} else if p.due.Before(least) {
		p.due = least
	}
	wait := p.due.Sub(now)
	p.due = p.due.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	return wait
}
