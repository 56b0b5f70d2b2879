package fleet

import (
	"sync"
	"sync/atomic"
)

// Bounds of the messages whose signature is not verified yet, in bytes of memory. Not even one message
// goes beyond them.
const (
	maxInbox = 64 << 20  // of one session
	maxHeld  = 256 << 20 // of all sessions of a link
	// messageCost is the memory that a message takes in addition to its bytes.
	messageCost = 512
)

// message is a message from a host whose signature is not verified yet.
type message struct {
	head said
	frame
}

// inbox is the queue of such messages of one session. A message that does not fit is dropped, as a
// broker would do: a missing answer is asked for again, and the numbers show a missing push.
type inbox struct {
	all  *atomic.Int64 // bytes of all inboxes of the link
	more chan struct{} // gets a token with each message

	mu    sync.Mutex
	queue []message
	bytes int64
}

func newInbox(all *atomic.Int64) *inbox { return &inbox{all: all, more: make(chan struct{}, 1)} }

func (b *inbox) put(m message) {
	size := int64(2*len(m.frame.head) + len(m.sig) + len(m.body) + messageCost) // the head twice: also parsed
	b.mu.Lock()
	if b.bytes+size <= maxInbox && b.all.Load()+size <= maxHeld {
		b.queue, b.bytes = append(b.queue, m), b.bytes+size
		b.all.Add(size)
	}
	b.mu.Unlock()
	select {
	case b.more <- struct{}{}:
	default: // a token waits already
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
