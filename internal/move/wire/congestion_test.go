package wire

import (
	"testing"
	"time"
)

func TestWhichCongestionControlIsTried(t *testing.T) {
	for _, c := range []struct {
		now     string
		allowed []string
		want    string
	}{
		{"cubic", []string{"reno", "cubic", "bbr"}, "bbr"},
		{"reno", []string{"reno", "bbr"}, "bbr"},
		{"reno", []string{"reno", "cubic"}, "cubic"},
		{"cubic", []string{"reno", "cubic"}, ""},
		{"bbr", []string{"reno", "cubic", "bbr"}, ""},
		{"dctcp", []string{"reno", "bbr"}, ""}, // a network of its own kind
		{"", []string{"bbr"}, ""},              // not told
		{"cubic", nil, ""},
	} {
		if got := another(c.now, c.allowed); got != c.want {
			t.Errorf("%s of %v: %q, want %q", c.now, c.allowed, got, c.want)
		}
	}
}

func TestWhenLossesHoldTheConnectionsBack(t *testing.T) {
	a := Sockets{Seen: 4, Busy: time.Second, Retransmitted: 5, Segments: 10_000, MinRTT: 16 * time.Millisecond}
	b := a
	b.Busy, b.Retransmitted, b.Segments = 9*time.Second, 105, 110_000
	for name, c := range map[string]struct {
		change func(a, b *Sockets)
		want   bool
	}{
		"losses":             {func(a, b *Sockets) {}, true},
		"too few to tell":    {func(a, b *Sockets) { b.Retransmitted = 12 }, false},
		"a small share":      {func(a, b *Sockets) { b.Segments = 10_000_000 }, false},
		"a short path":       {func(a, b *Sockets) { b.MinRTT = time.Millisecond }, false},
		"no RTT was seen":    {func(a, b *Sockets) { b.MinRTT = 0 }, false},
		"windows are full":   {func(a, b *Sockets) { b.RwndLimited = 3 * time.Second; b.SndbufLimited = 2 * time.Second }, false},
		"a stream was added": {func(a, b *Sockets) { a.Seen = 3 }, false},
		"nothing was told":   {func(a, b *Sockets) { a.Seen, b.Seen = 0, 0 }, false},
	} {
		x, y := a, b
		c.change(&x, &y)
		if got := losing(x, y); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
