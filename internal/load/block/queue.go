package block

import (
	"time"

	"linerate/internal/load/ring"
)

// queue is where requests go: a ring, a thread's own system calls, or nothing.
type queue interface {
	// Push takes a request; false: it is full.
	Push(ring.Op) bool
	// Enter hands over what was pushed and waits for so many completions, but
	// not beyond limit.
	Enter(wait int, limit time.Duration) error
	Next() (ring.Completion, bool)
	Arrived() int
	Close() error
}

// null completes every request at once: what a run over it takes is the
// generator's own cost.
type null struct {
	done []ring.Completion
	head int
	used int
}

func newNull(depth int) *null { return &null{done: make([]ring.Completion, depth)} }

// Push implements queue.
func (n *null) Push(o ring.Op) bool {
	if n.used == len(n.done) {
		return false
	}
	i := n.head + n.used
	if i >= len(n.done) {
		i -= len(n.done)
	}
	n.done[i] = ring.Completion{Tag: o.Tag, Result: int32(o.Len)}
	n.used++
	return true
}

// Enter implements queue.
func (n *null) Enter(wait int, limit time.Duration) error {
	if wait > n.used {
		time.Sleep(limit)
	}
	return nil
}

// Next implements queue.
func (n *null) Next() (ring.Completion, bool) {
	if n.used == 0 {
		return ring.Completion{}, false
	}
	c := n.done[n.head]
	if n.head++; n.head == len(n.done) {
		n.head = 0
	}
	n.used--
	return c, true
}

// Arrived implements queue.
func (n *null) Arrived() int { return n.used }

// Close implements queue.
func (n *null) Close() error { return nil }

// calls makes each request a blocking system call of this thread: one at a
// time.
type calls struct {
	file   file
	buffer []byte
	op     ring.Op
	has    bool // op is pushed and not yet done
	done   ring.Completion
	ready  bool
}

// file is an open file as calls need it. Errors are error numbers below 0.
type file interface {
	readAt(b []byte, off int64) int32
	writeAt(b []byte, off int64) int32
	sync(data bool) int32
}

// Push implements queue.
func (c *calls) Push(o ring.Op) bool {
	if c.has || c.ready {
		return false
	}
	c.op, c.has = o, true
	return true
}

// Enter implements queue.
func (c *calls) Enter(wait int, limit time.Duration) error {
	if !c.has {
		if wait > 0 && !c.ready {
			time.Sleep(limit)
		}
		return nil
	}
	c.has, c.ready = false, true
	c.done = ring.Completion{Tag: c.op.Tag}
	b := c.buffer[c.op.From : c.op.From+c.op.Len]
	switch c.op.Kind {
	case ring.Read:
		c.done.Result = c.file.readAt(b, c.op.Offset)
	case ring.Write:
		c.done.Result = c.file.writeAt(b, c.op.Offset)
	case ring.Fsync, ring.Fdatasync:
		c.done.Result = c.file.sync(c.op.Kind == ring.Fdatasync)
	case ring.Nop:
	}
	return nil
}

// Next implements queue.
func (c *calls) Next() (ring.Completion, bool) {
	ok := c.ready
	c.ready = false
	return c.done, ok
}

// Arrived implements queue.
func (c *calls) Arrived() int {
	if c.ready {
		return 1
	}
	return 0
}

// Close implements queue.
func (c *calls) Close() error { return nil }
