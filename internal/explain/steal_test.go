package explain

import (
	"testing"
	"time"

	"linerate/internal/model"
)

// Pauses of a virtual CPU look like a queue of the path: a rate that jumps
// about while the hypervisor takes the core is not blamed on the link, a rate
// that stays put still is, and a full window is not excused by such a queue.
func TestStolenCPUIsNotALink(t *testing.T) {
	make := func(steal, spread, queue float64) *scene {
		return &scene{
			c: &views{}, minRTT: 10 * time.Millisecond, ceiling: 0.94e9, total: 0.6e9, sender: &hostView{steal: steal, run: 0.1}, reader: &hostView{steal: 0, run: 0.1},
			snd: &sndView{last: &model.Conn{}, n: 40, acked: 3e8, rate: 0.6e9, queue: queue, spread: spread, minRTT: 10 * time.Millisecond},
		}
	}
	for _, c := range []struct {
		steal, spread, queue float64
		link, behind         bool
	}{
		{0, 1.6, 1.5, true, true},
		{0.18, 1.6, 1.5, false, false},
		{0.18, 1.1, 1.5, true, false},
		{0.18, 1.1, 3, true, true},
		{unknown(), 1.6, 1.5, true, true},
		{0.18, unknown(), 1.5, false, false},
	} {
		s := make(c.steal, c.spread, c.queue)
		if got := seeSlowLink(s) != nil; got != c.link {
			t.Errorf("steal %.2f, spread %.1f: link blamed %v, want %v", c.steal, c.spread, got, c.link)
		}
		if got := s.behindQueue(unknown()); got != c.behind {
			t.Errorf("steal %.2f, queue %.1f: behind a queue %v, want %v", c.steal, c.queue, got, c.behind)
		}
	}
}

// One or two bursts of losses while the hypervisor takes the core are queues
// that overflowed after a pause; many are the path's.
func TestStolenCPUIsNotALossyPath(t *testing.T) {
	for _, c := range []struct {
		steal, losses float64
		loss          bool
	}{{0, 1, true}, {0.1, 1, false}, {0.1, 30, true}} {
		s := &scene{
			c: &views{}, minRTT: 10 * time.Millisecond, ceiling: 0.94e9, total: 0.1e9, sender: &hostView{steal: c.steal}, reader: &hostView{},
			snd: &sndView{last: &model.Conn{}, n: 40, acked: 2e7, rate: 0.03e9, queue: 1.05, retrans: 0.001, losses: c.losses},
		}
		s.snd.last.SndMSS = 1448
		if got := seeLoss(s) != nil; got != c.loss {
			t.Errorf("steal %.2f, %v samples with losses: path blamed %v, want %v", c.steal, c.losses, got, c.loss)
		}
	}
}

// A core full of kernel work is no cost of packets when next to none pass, and
// nothing but a path at its ceiling is certain while the hypervisor takes the
// core.
func TestStolenCPUIsNotPackets(t *testing.T) {
	s := &scene{c: &views{}, total: 2e6, sender: &hostView{}, reader: &hostView{busy: 0.95, kernel: 0.67}, snd: &sndView{last: &model.Conn{}}}
	s.snd.last.SndMSS = 1448
	if s.packetsCost(s.reader) {
		t.Error("170 packets a second fill a core")
	}
	s.total = 4e9
	if !s.packetsCost(s.reader) {
		t.Error("345000 packets a second cost nothing")
	}
	for steal, want := range map[float64]float64{0: 0.95, 0.5: stealCap} {
		b := ballot{first: &finding{id: "receiver-window", margin: 1}, scene: &scene{sender: &hostView{steal: steal}, snd: &sndView{last: &model.Conn{}, n: 40}}}
		if got := confidence(b, 1); got != want {
			t.Errorf("steal %.1f: confidence %v, want %v", steal, got, want)
		}
	}
}
