package wire

import (
	"slices"
	"time"
)

// Trial is another congestion control that the data connections were given after losses: rates of
// data, in bits per second, measured over trialTime each.
type Trial struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Before float64 `json:"before_bps"`
	After  float64 `json:"after_bps"`
	Kept   bool    `json:"kept"` // else they have From again
}

// When another congestion control is tried, and kept.
const (
	trialTime = 2 * time.Second
	trialGain = 1.2                  // times the rate: less may be noise
	trialRTT  = 2 * time.Millisecond // below, what was lost is soon made good
	trialLost = 1e-4                 // of the segments
	trialSeen = 8                    // segments: fewer may be chance
)

// another is the congestion control to be tried instead of one that takes each loss for a full
// queue, of those that any user of this host may set; "": none.
func another(now string, allowed []string) string {
	lossBased := []string{"reno", "cubic", "bic", "htcp", "westwood", "highspeed", "scalable"}
	if !slices.Contains(lossBased, now) {
		return ""
	}
	if slices.Contains(allowed, "bbr") {
		return "bbr"
	}
	if now == "reno" && slices.Contains(allowed, "cubic") {
		return "cubic"
	}
	return ""
}

// losing tells whether losses are what held the connections back from a to b; windows and buffers
// that were full for most of the time are not.
func losing(a, b Sockets) bool {
	sent, lost := b.Segments-a.Segments, b.Retransmitted-a.Retransmitted
	busy, full := b.Busy-a.Busy, b.RwndLimited-a.RwndLimited+b.SndbufLimited-a.SndbufLimited
	switch {
	case a.Seen == 0 || a.Seen != b.Seen || b.MinRTT < trialRTT:
		return false
	case lost < trialSeen || float64(lost) < trialLost*float64(sent):
		return false
	}
	return full < busy/2
}

// moment is how far the data streams are.
type moment struct {
	Look
	Sockets
}

func (s *Stats) moment() moment { return moment{s.Look(), s.Sockets()} }

// rate is that of the data since a, in bits per second.
func (b moment) rate(a moment) float64 {
	return 8 * float64(b.Look.Sent-a.Look.Sent) / trialTime.Seconds()
}

// try gives the connections another congestion control once losses hold them back and the copy
// waits for them, and gives them the old one again if that brings too little.
func (f *fan) try() {
	allowed := f.s.o.Congestion
	if len(allowed) == 0 {
		return
	}
	last := f.s.stats.moment()
	for f.pause(trialTime) {
		now := f.s.stats.moment()
		busy := float64(now.Sending-last.Sending) / float64(trialTime) / float64(f.n)
		to := another(now.Congestion, allowed)
		if to == "" {
			return
		}
		if busy < busyShare || !losing(last.Sockets, now.Sockets) {
			last = now
			continue
		}
		t := Trial{From: now.Congestion, To: to, Before: now.rate(last)}
		if f.s.stats.congest(to) != nil {
			_ = f.s.stats.congest(t.From) // who has it by now; the others have it anyway
			return
		}
		if !f.pause(trialTime) {
			return // over before it was known
		}
		t.After = f.s.stats.moment().rate(now)
		t.Kept = t.After >= trialGain*t.Before
		if !t.Kept && f.s.stats.congest(t.From) != nil {
			t.Kept = true // it could not be had again
		}
		f.s.stats.note(t)
		return
	}
}

// pause waits, and tells whether the copy still goes on.
func (f *fan) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-f.over:
	case <-f.ctx.Done():
	}
	return false
}

// congest gives every data connection a congestion control.
func (s *Stats) congest(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if c.n == 0 {
			continue
		}
		if err := setCongestion(c.raw, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *Stats) note(t Trial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trial = &t
}

// Trial is the congestion control that was tried; nil: none was.
func (s *Stats) Trial() *Trial {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trial
}
