package fleet

import (
	"encoding/json"
	"fmt"
	"time"
)

// A push is a message that an agent sends without being asked, such as a sample. It is numbered, kept
// until its controller has acknowledged it (methodHave), and retransmitted if that takes too long.
const (
	keepTime   = 10 * time.Minute // longest time that a push is kept
	keepBytes  = 64 << 20         // most bytes that are kept, of all sessions together
	flightSize = 32 << 10         // most bytes of a session that are sent and not acknowledged
	lateTime   = 5 * time.Second  // without an acknowledgement for so long, pushes are sent again
)

// kept is a push with its number in the session.
type kept struct {
	n    uint64
	at   time.Time
	body []byte
}

// outbox has the pushes of a session that are not acknowledged yet, in order. The lock of the session
// guards it.
type outbox struct {
	on    bool // the controller sends acknowledgements
	last  uint64
	list  []kept // with successive numbers
	sent  uint64 // the highest number that was sent
	at    time.Time
	bytes int
}

// put appends a push.
func (o *outbox) put(body []byte, now time.Time) {
	o.last++
	o.list, o.bytes = append(o.list, kept{o.last, now, body}), o.bytes+len(body)
}

// drop removes the oldest push and returns its size.
func (o *outbox) drop() int {
	size := len(o.list[0].body)
	o.list, o.bytes = o.list[1:], o.bytes-size
	return size
}

// has processes an acknowledgement of all pushes up to n: it removes them and returns their size.
// again: the ones after n did not arrive and have to be sent again.
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

// rewind marks everything that is kept as not sent.
func (o *outbox) rewind() {
	o.sent = o.last
	if len(o.list) > 0 {
		o.sent = o.list[0].n - 1
	}
}

// old removes pushes that are older than keepTime and returns their size.
func (o *outbox) old(now time.Time) (size int) {
	for len(o.list) > 0 && now.Sub(o.list[0].at) > keepTime {
		size += o.drop()
	}
	return size
}

// next is the push to send next; false: there is none, or flightSize is reached.
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

// possession is the body of an acknowledgement.
type possession struct {
	Have  uint64 `json:"have"`
	Again bool   `json:"again,omitempty"` // the pushes after it are missing
}

// push sends a push, at once if flightSize allows, else later.
func (s *served) push(body []byte) {
	if len(body) > maxPart {
		s.a.Log(fmt.Sprintf("something of %d bytes was dropped, and a broker takes %d; the gap shows", len(body), maxPart))
		return
	}
	s.mu.Lock()
	if !s.out.on {
		s.mu.Unlock()
		if err := s.a.publish(s.stream(), said{Session: s.id}, body); err != nil {
			s.a.Log(err.Error()) // this controller wants no retransmission; it sees the gap
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

// room counts a push that is about to be kept. If keepBytes is exceeded it removes the oldest pushes of
// the session that keeps most, so that a controller which is gone takes no room from one that reads.
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
			return // the rest belongs to sessions that are ending and give it back
		}
		most.mu.Lock()
		if len(most.out.list) > 0 {
			most.holds(-most.out.drop())
		}
		most.mu.Unlock()
	}
}

// pump sends as many pushes as flightSize allows; s.mu is held. If the broker refuses one, it is sent
// later.
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

// keep has pushes kept from now on until they are acknowledged.
func (s *served) keep() {
	s.mu.Lock()
	s.out.on = true
	s.mu.Unlock()
}

// has takes an acknowledgement from the controller.
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

// late retransmits if no acknowledgement came for lateTime, and at once if the connection to the broker
// is a new one, since what was on its way is lost.
func (s *served) late(anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out.list) > 0 && (anew || time.Since(s.out.at) > lateTime) {
		s.out.rewind()
		s.pump()
	}
}

// forget drops the pushes of a session that is over.
func (s *served) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds(-s.out.bytes)
	s.out = outbox{}
}

// holds adjusts the counts of kept bytes. They are atomic because they are read without the session's
// lock, which is held during a send.
func (s *served) holds(more int) {
	s.held.Add(int64(more))
	s.a.keeping.Add(int64(more))
}
