package explain

import (
	"slices"
	"testing"
	"time"

	"linerate/internal/model"
)

// retransmitting is a sender that sends 1000 segments between samples and sends
// again what k says.
func retransmitting(n int, k func(i int) int, edit func(i int, c *model.Conn)) []obs {
	var out []obs
	sent, again := int64(0), 0
	for i := range n {
		sent, again = sent+1000, again+k(i)
		c := model.Conn{InfoLen: 248, SndMSS: 1448, SegsOut: sent, TotalRetrans: again, BytesAcked: sent * 1448, BytesSent: sent * 1448,
			BytesRetrans: int64(again) * 1448, RTT: 20 * time.Millisecond, MinRTT: 20 * time.Millisecond, Unacked: 100, Cwnd: 100, NotSent: 1 << 20, SndBuf: 4 << 20, SndWnd: 4 << 20}
		if edit != nil {
			edit(i, &c)
		}
		out = append(out, obs{time.Duration(i) * 100 * time.Millisecond, &c})
	}
	return out
}

func TestPattern(t *testing.T) {
	now := func(n int) func(int) int { return func(int) int { return n } }
	at := func(n int, when ...int) func(int) int {
		return func(i int) int {
			if slices.Contains(when, i) {
				return n
			}
			return 0
		}
	}
	for _, tt := range []struct {
		name string
		k    func(i int) int
		edit func(i int, c *model.Conn)
		want pattern
	}{
		{"one here, one there", at(1, 3, 9, 14, 22, 31, 33), nil, patternRandom},
		{"always a few", func(i int) int { return 3 + i%3 }, nil, patternRandom},
		{"twenty at a time", at(20, 5, 25), nil, patternBursty},
		{"neither", at(4, 3, 9, 17, 25, 33), nil, patternUnknown},
		{"two in all", at(1, 5, 25), nil, patternUnknown},
		{"none", now(0), nil, patternUnknown},
		{"late, not lost", at(20, 5, 25), func(i int, c *model.Conn) { c.ReordSeen, c.DSACKDups = 3*i, c.TotalRetrans }, patternReordering},
		{"given up too soon", at(20, 5, 25), func(_ int, c *model.Conn) { c.DSACKDups = c.TotalRetrans }, patternSpurious},
		{"needless at times", at(20, 5, 25), func(_ int, c *model.Conn) { c.DSACKDups = c.TotalRetrans / 4 }, patternBursty},
		{"the last segments of each write", at(1, 4, 12, 20, 28, 36), func(_ int, c *model.Conn) { c.TotalRTO, c.NotSent = c.TotalRetrans, 0 }, patternTail},
		{"timeouts amid data", at(1, 4, 12, 20, 28, 36), func(_ int, c *model.Conn) { c.TotalRTO = c.TotalRetrans }, patternRandom},
		{"a policer", func(i int) int { return 20 + 60*(i%2) }, nil, patternPoliced},
		{"a policer behind a queue", func(i int) int { return 20 + 60*(i%2) }, func(_ int, c *model.Conn) { c.RTT *= 2 }, patternBursty},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := retransmitting(40, tt.k, tt.edit)
			v := viewSender(all, span{to: time.Minute}, 20*time.Millisecond)
			s := &scene{snd: v}
			if got := s.pattern(); got != tt.want {
				t.Errorf("%q, want %q (dispersion %.3g, spread %.3g, %v of %d samples)", got, tt.want, v.dispersion, v.spread, v.losses, v.n)
			}
		})
	}
}

// Even losses of the recordings are told from bursts, whatever slows the sender.
func TestPatternsOfRecordings(t *testing.T) {
	for name, want := range map[string]pattern{
		"loss0.1.cubic": patternRandom, "loss1.cubic": patternRandom, "loss0.01.bbr": patternRandom, "loss1.bbr": patternRandom,
		"burst20.cubic": patternBursty, "burst300.cubic": patternBursty, "burst20.bbr": patternBursty, "smallq50.cubic": patternBursty,
		"smallq50.bbr": patternPoliced, "healthy.cubic": patternUnknown, "rmem256.cubic": patternUnknown,
	} {
		c := readRecording(t, name)
		if got := look(c).scenes[0].pattern(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestLossesManyAtATime: losses that come many at a time are a queue's or a policer's,
// likelier than not, and nothing but the paced probe makes that sure.
func TestLossesManyAtATime(t *testing.T) {
	for _, name := range []string{"smallq50.cubic", "burst20.cubic", "burst300.cubic"} {
		v := Judge(readRecording(t, name))
		if v.Limiter != model.PathQueue || v.Confidence >= 0.5 || v.Probe == nil || v.Probe.Do != pacedProbe {
			t.Errorf("%s: %s (%.2f), probe %v", name, v.Limiter, v.Confidence, v.Probe)
		}
	}
	// Of one loss in ten thousand segments there are too few to be sure that they are even.
	for name, sure := range map[string]bool{"loss0.01.cubic": false, "loss0.1.cubic": true, "loss1.cubic": true} {
		if v := Judge(readRecording(t, name)); v.Limiter != model.PathLoss || sure != (v.Confidence >= 0.7) {
			t.Errorf("%s: %s (%.2f)", name, v.Limiter, v.Confidence)
		}
	}
}
