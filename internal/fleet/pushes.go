package fleet

import (
	"encoding/json"
	"time"
)

// When a controller acknowledges: so many bytes, or so long, after the last acknowledgement.
const (
	haveBytes = flightSize / 2
	haveTime  = 2 * time.Second
)

// pushes is the state of the pushes that a controller receives from a host.
type pushes struct {
	have  uint64    // all pushes up to this number have come, or are no longer kept by the host
	bytes int       // that came since the last acknowledgement
	due   bool      // an acknowledgement is due
	at    time.Time // of the last acknowledgement
	asked time.Time // when a retransmission was last asked for
}

// pushed takes a push and delivers each one once and in order. If the host no longer keeps some, that is
// a gap, which the reader sees by the numbers of the samples.
func (s *Session) pushed(head said, body []byte) {
	s.mu.Lock()
	g := &s.got
	g.due = true
	if head.From > g.have+1 && head.Push == head.From {
		g.have = head.From - 1
	}
	now := time.Now()
	switch {
	case head.Push <= g.have: // a duplicate
		s.mu.Unlock()
		return
	case head.Push > g.have+1:
		again := now.Sub(g.asked) > time.Second
		if again {
			g.asked = now
		}
		s.mu.Unlock()
		if again {
			s.have(true)
		}
		return
	}
	s.mu.Unlock()
	s.deliver(body)
	s.mu.Lock()
	g.have = head.Push
	g.bytes += len(body)
	tell := g.bytes >= haveBytes
	s.mu.Unlock()
	if tell {
		s.have(false)
	}
}

// have acknowledges what has come; again asks for the rest to be sent again.
func (s *Session) have(again bool) {
	s.mu.Lock()
	body, err := json.Marshal(possession{s.got.have, again})
	s.got.bytes, s.got.due, s.got.at, s.said = 0, false, time.Now(), time.Now()
	s.mu.Unlock()
	if err == nil {
		_ = s.l.send(s, random(15), methodHave, true, body) // if this is lost, the host retransmits and is answered then
	}
}

// tell acknowledges if something has come since the last acknowledgement.
func (s *Session) tell(now time.Time) {
	s.mu.Lock()
	due := s.got.due && now.Sub(s.got.at) > haveTime
	s.mu.Unlock()
	if due {
		s.have(false)
	}
}

// missed asks for the pushes that were lost while the broker was not connected.
func (s *Session) missed() {
	s.mu.Lock()
	keeps := s.got.have > 0
	s.mu.Unlock()
	if keeps {
		s.have(true)
	}
}
