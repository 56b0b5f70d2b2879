package host

import (
	"sync"
	"time"
)

// ringBytes is how much packed samples of one sampling may wait at most. Ten minutes of a host with 64
// cores and 16 connections, ten a second, take two thirds of it at most (bench/watch).
const ringBytes = 16 << 20

// waiting is a batch that was not sent yet.
type waiting struct {
	batchPush
	at time.Time
}

// ring has the batches of a sampling that could not be sent yet, the newest that fit: the sampler
// never waits for the way to the controller. What is dropped is dropped up to a batch that begins a
// stream, for those between could not be read.
type ring struct {
	keep time.Duration

	mu      sync.Mutex
	queue   []waiting
	bytes   int
	dropped int // samples
	ended   bool
	more    chan struct{} // gets a token when there is more, or the end
}

func newRing(keep time.Duration) *ring { return &ring{keep: keep, more: make(chan struct{}, 1)} }

// trim drops what is too old or too much. broken tells that it dropped all there was, so that what
// comes next has to begin a stream.
func (r *ring) trim(now time.Time) (broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drop := 0
	for drop < len(r.queue) && (r.bytes > ringBytes || now.Sub(r.queue[drop].at) > r.keep) {
		for first := true; drop < len(r.queue) && (first || !r.queue[drop].Fresh); first = false {
			r.bytes -= len(r.queue[drop].Data)
			r.dropped += r.queue[drop].Count
			drop++
		}
	}
	broken = drop > 0 && drop == len(r.queue)
	r.queue = append([]waiting(nil), r.queue[drop:]...)
	return broken
}

func (r *ring) put(b batchPush, now time.Time) {
	r.mu.Lock()
	r.queue, r.bytes = append(r.queue, waiting{b, now}), r.bytes+len(b.Data)
	r.mu.Unlock()
	r.tell()
}

// end says that nothing more comes.
func (r *ring) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.tell()
}

func (r *ring) tell() {
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// next waits for the oldest batch; false: there is none and none will come.
func (r *ring) next() (batchPush, bool) {
	for {
		r.mu.Lock()
		if len(r.queue) > 0 {
			b := r.queue[0].batchPush
			r.queue, r.bytes = r.queue[1:], r.bytes-len(b.Data)
			r.mu.Unlock()
			return b, true
		}
		ended := r.ended
		r.mu.Unlock()
		if ended {
			return batchPush{}, false
		}
		<-r.more
	}
}

// waits is how many batches wait.
func (r *ring) waits() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.queue)
}

func (r *ring) lost() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}
