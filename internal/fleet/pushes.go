package fleet

import (
	"encoding/json"
	"time"
)

// When a controller says what it has: so many bytes or so long after it last did.
const (
	haveBytes = flightSize / 2
	haveTime  = 2 * time.Second
)

// pushes is what a controller has of what a host says by itself.
type pushes struct {
	have  uint64    // the highest number up to which all came, or is kept by nobody any more
	bytes int       // that came since the host was told
	due   bool      // the host is to be told
	at    time.Time // when it was told last
	asked time.Time // when it was last asked to say again what is missing
}

// pushed takes something that the host keeps until it is here: once, and in its order. What it keeps
// no more is a gap, which the numbers in what comes next show.
func (s *Session) pushed(head said, body []byte) {
	s.mu.Lock()
	g := &s.got
	g.due = true
	if head.From > g.have+1 && head.Push == head.From {
		g.have = head.From - 1
	}
	now := time.Now()
	switch {
	case head.Push <= g.have: // it came before
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

// have tells the host what is here.
func (s *Session) have(again bool) {
	s.mu.Lock()
	body, err := json.Marshal(possession{s.got.have, again})
	s.got.bytes, s.got.due, s.got.at, s.said = 0, false, time.Now(), time.Now()
	s.mu.Unlock()
	if err == nil {
		_ = s.l.send(s, random(15), methodHave, true, body) // the host says it again, and is told then
	}
}

// tell tells the host what is here, if there was anything since it was told.
func (s *Session) tell(now time.Time) {
	s.mu.Lock()
	due := s.got.due && now.Sub(s.got.at) > haveTime
	s.mu.Unlock()
	if due {
		s.have(false)
	}
}

// missed asks for what was said while nothing could be heard.
func (s *Session) missed() {
	s.mu.Lock()
	keeps := s.got.have > 0
	s.mu.Unlock()
	if keeps {
		s.have(true)
	}
}
