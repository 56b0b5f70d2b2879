package fleet

import (
	"sync"
	"sync/atomic"
)

// Bounds of what waits to be proven and read, in bytes of memory: of one session, and of a link. They
// are not exceeded by a message either.
const (
	maxInbox = 64 << 20
	maxHeld  = 256 << 20
	// messageCost is what a message takes beside its bytes.
	messageCost = 512
)

// message is what a host says, not proven yet.
type message struct {
	head said
	frame
}

// inbox has the messages of a session that were not looked at yet. What has no room is dropped, as
// a broker would drop it: an answer is asked for again, and a number that is missing is seen.
type inbox struct {
	all  *atomic.Int64 // bytes of all inboxes of the link
	more chan struct{} // gets a token with each message

	mu    sync.Mutex
	queue []message
	bytes int64
}

func newInbox(all *atomic.Int64) *inbox { return &inbox{all: all, more: make(chan struct{}, 1)} }

func (b *inbox) put(m message) {
	size := int64(2*len(m.frame.head) + len(m.sig) + len(m.body) + messageCost) // the head was read, too
	b.mu.Lock()
	if b.bytes+size <= maxInbox && b.all.Load()+size <= maxHeld {
		b.queue, b.bytes = append(b.queue, m), b.bytes+size
		b.all.Add(size)
	}
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default: // it is known already
	}
}

// take empties the inbox.
func (b *inbox) take() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.queue
	b.all.Add(-b.bytes)
	b.queue, b.bytes = nil, 0
	return out
}
