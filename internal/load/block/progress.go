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
	threads         atomic.Int64 // whose waits are seen; none by calls, which wait in the kernel
	target, due     atomic.Int64 // how long they waited, since it was last looked at
}

// What a run waits for, or has no time left for.
const (
	ByTarget = "the target"
	ByRate   = "its rate or pauses"
	ByHost   = "this host's CPU"
)

// LimitedBy says where most of the threads' time went in a while: waiting for the
// target with all requests out, waiting until the next one was due, or in this program
// and the kernel's work for it. Empty: it is not seen.
func (p *Progress) LimitedBy(while time.Duration) string {
	all := time.Duration(p.threads.Load()) * while
	target, due := time.Duration(p.target.Swap(0)), time.Duration(p.due.Swap(0))
	switch rest := all - target - due; {
	case all <= 0:
		return ""
	case target >= due && target >= rest:
		return ByTarget
	case due >= rest:
		return ByRate
	}
	return ByHost
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
	target, due     time.Duration // waited
}

// waited takes in a wait: for the target where all requests are out, or the next one
// is for a block with a write in flight.
func (s *seen) waited(d time.Duration, allOut bool) {
	if allOut {
		s.target += d
	} else {
		s.due += d
	}
}

func (s *seen) add(a *alike) {
	s.requests += a.n
	s.bytes += a.bytes
	s.longest = max(s.longest, a.latency)
}

// tell passes on what was seen, and begins anew.
func (s *seen) tell(p *Progress) {
	if s.requests == 0 && s.target+s.due < tellWaits {
		return
	}
	p.target.Add(int64(s.target))
	p.due.Add(int64(s.due))
	p.requests.Add(s.requests)
	p.bytes.Add(s.bytes)
	for old := p.longest.Load(); int64(s.longest) > old && !p.longest.CompareAndSwap(old, int64(s.longest)); {
		old = p.longest.Load()
	}
	*s = seen{}
}

// tellWaits is how long waits without a completion add up before they are passed on.
const tellWaits = 50 * time.Millisecond
