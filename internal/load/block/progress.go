package block

import (
	"sync/atomic"
	"time"
)

// Progress is what a run has completed so far, for whoever watches it. It costs
// each thread an addition per loop.
type Progress struct {
	requests, bytes atomic.Int64
	longest         atomic.Int64 // latency since it was last looked at
}

// Look returns the requests and bytes that have been completed since the start of
// the run, warm-up included, and the longest latency since the last look.
func (p *Progress) Look() (requests, bytes int64, longest time.Duration) {
	return p.requests.Load(), p.bytes.Load(), time.Duration(p.longest.Swap(0))
}

// seen is what a worker has completed since it last told.
type seen struct {
	requests, bytes int64
	longest         time.Duration
}

func (s *seen) add(bytes int, latency time.Duration) {
	s.requests++
	s.bytes += int64(bytes)
	s.longest = max(s.longest, latency)
}

// tell passes on what was seen, and begins anew.
func (s *seen) tell(p *Progress) {
	if s.requests == 0 {
		return
	}
	p.requests.Add(s.requests)
	p.bytes.Add(s.bytes)
	for old := p.longest.Load(); int64(s.longest) > old && !p.longest.CompareAndSwap(old, int64(s.longest)); {
		old = p.longest.Load()
	}
	*s = seen{}
}
