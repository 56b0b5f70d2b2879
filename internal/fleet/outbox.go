package fleet

import (
	"encoding/json"
	"fmt"
	"time"
)

// Bounds of what an agent keeps of what it says by itself, such as samples, until its controllers
// have it: how long, in bytes of all sessions together, and in bytes of a session that are on their
// way at once.
const (
	keepTime   = 10 * time.Minute
	keepBytes  = 64 << 20
	flightSize = 32 << 10
	// lateTime is after how long without a word of the controller what is on its way is said again.
	lateTime = 5 * time.Second
)

// kept is something that was said, with its number in the session.
type kept struct {
	n    uint64
	at   time.Time
	body []byte
}

// outbox has what a session says by itself, in order, until the controller has it. It is guarded by
// its session.
type outbox struct {
	on    bool // the controller says what it has
	last  uint64
	list  []kept // with successive numbers
	sent  uint64 // the highest number that was sent
	at    time.Time
	bytes int
}

// put adds something at its end.
func (o *outbox) put(body []byte, now time.Time) {
	o.last++
	o.list, o.bytes = append(o.list, kept{o.last, now, body}), o.bytes+len(body)
}

// drop forgets the first, and returns its size.
func (o *outbox) drop() int {
	size := len(o.list[0].body)
	o.list, o.bytes = o.list[1:], o.bytes-size
	return size
}

// has notes what the controller has, and returns how much is forgotten for that. again: what comes
// after it did not arrive.
func (o *outbox) has(n uint64, again bool) (size int) {
	for len(o.list) > 0 && o.list[0].n <= n {
		size += o.drop()
	}
	o.sent = max(o.sent, min(n, o.last))
	if again {
		o.rewind()
	}
	return size
}

// rewind has everything that is kept sent again.
func (o *outbox) rewind() {
	o.sent = o.last
	if len(o.list) > 0 {
		o.sent = o.list[0].n - 1
	}
}

// old forgets what was said too long ago, and returns how much that is.
func (o *outbox) old(now time.Time) (size int) {
	for len(o.list) > 0 && now.Sub(o.list[0].at) > keepTime {
		size += o.drop()
	}
	return size
}

// next is what is to be sent next; false: nothing, or enough is on its way.
func (o *outbox) next() (kept, bool) {
	flight := 0
	for _, k := range o.list {
		if k.n > o.sent {
			return k, flight == 0 || flight+len(k.body) <= flightSize
		}
		flight += len(k.body)
	}
	return kept{}, false
}

// possession is the body of what a controller says of what it has.
type possession struct {
	Have  uint64 `json:"have"`
	Again bool   `json:"again,omitempty"` // what comes after it is missing
}

// push says something by itself: at once if it can be, else as soon as it can.
func (s *served) push(body []byte) {
	if len(body) > maxPart {
		s.a.Log(fmt.Sprintf("something of %d bytes was dropped, and a broker takes %d; the gap shows", len(body), maxPart))
		return
	}
	s.mu.Lock()
	if !s.out.on {
		s.mu.Unlock()
		if err := s.a.publish(s.stream(), said{Session: s.id}, body); err != nil {
			s.a.Log(err.Error()) // this controller takes no more than what it hears; the gap shows
		}
		return
	}
	s.mu.Unlock()
	s.a.room(len(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.out.put(body, now)
	s.held.Add(int64(len(body)))
	s.holds(-s.out.old(now))
	s.pump()
}

// room counts something that is about to be kept, and has what is over the bound forgotten for it:
// of the session that keeps most, the oldest first, so that a controller which is gone takes nothing
// from one that reads.
func (a *agent) room(size int) {
	for over := a.keeping.Add(int64(size)) > keepBytes; over; over = a.keeping.Load() > keepBytes {
		a.mu.Lock()
		var most *served
		for _, s := range a.sessions {
			if most == nil || s.held.Load() > most.held.Load() {
				most = s
			}
		}
		a.mu.Unlock()
		if most == nil || most.held.Load() == 0 {
			return // what sessions keep that have ended goes with them
		}
		most.mu.Lock()
		if len(most.out.list) > 0 {
			most.holds(-most.out.drop())
		}
		most.mu.Unlock()
	}
}

// pump sends what may be on its way; s.mu is held. What the broker does not take now is sent later.
func (s *served) pump() {
	for {
		k, ok := s.out.next()
		if !ok {
			return
		}
		if s.a.publish(s.stream(), said{Session: s.id, Push: k.n, From: s.out.list[0].n}, k.body) != nil {
			return
		}
		s.out.sent, s.out.at = k.n, time.Now()
	}
}

// keep begins to keep what is said until the controller has it.
func (s *served) keep() {
	s.mu.Lock()
	s.out.on = true
	s.mu.Unlock()
}

// has takes what the controller says of what it has.
func (s *served) has(body []byte) error {
	var p possession
	if err := json.Unmarshal(body, &p); err != nil {
		return refuse("%s: %s", methodHave, printable(err.Error()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds(-s.out.has(p.Have, p.Again))
	s.pump()
	return nil
}

// late sends again what the controller has said nothing of for long; after a new connection to the
// broker, what was on its way is sent at once.
func (s *served) late(anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out.list) > 0 && (anew || time.Since(s.out.at) > lateTime) {
		s.out.rewind()
		s.pump()
	}
}

// forget gives back what the session kept, when it is over.
func (s *served) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds(-s.out.bytes)
	s.out = outbox{}
}

// holds counts what is kept. Its numbers are read without the session's lock, which is held while
// something is sent.
func (s *served) holds(more int) {
	s.held.Add(int64(more))
	s.a.keeping.Add(int64(more))
}
