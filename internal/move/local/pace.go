package local

import (
	"context"
	"sync"
	"time"
)

// pace spreads bytes over time.
type pace struct {
	rate int64 // bytes a second, 0: no limit
	mu   sync.Mutex
	next time.Time
}

func newPace(rate int64) *pace { return &pace{rate: rate} }

// wait returns when n more bytes are due. What was not used for a second is lost, so that a
// pause is not followed by a burst.
func (p *pace) wait(ctx context.Context, n int) error {
	if p.rate == 0 || n == 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if least := now.Add(-time.Second); p.next.Before(least) {
		p.next = now
	}
	due := p.next
	p.next = p.next.Add(time.Duration(float64(n) / float64(p.rate) * float64(time.Second)))
	p.mu.Unlock()
	t := time.NewTimer(time.Until(due))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
