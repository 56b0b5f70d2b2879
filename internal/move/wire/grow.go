package wire

import "time"

// One more stream has to raise the rate by this share, measured over this time. Streams are
// added only while the copy waits for them.
const (
	growBy    = 1.05
	growAfter = 2 * time.Second
	busyShare = 0.7
	mostGrown = 16

	// lookEvery is how often it is looked whether the send buffers hold the streams back for so much of
	// the time. Then as many again are opened at once: what a full buffer lets one carry is known, and
	// with 4 MiB over 16 ms a link of 10 Gbit/s takes eight.
	lookEvery = 500 * time.Millisecond
	heldShare = 0.5
)

// grown is what the streams have done until a moment.
type grown struct {
	sent          int64         // bytes
	sending       time.Duration // in sends, of all streams
	carrying, buf time.Duration // by the kernel: with data to send, of which the send buffer held them
}

// growth decides, every lookEvery, how many streams are added.
type growth struct {
	before float64 // bytes a second with fewer streams; 0: not known
	added  bool    // some were added since the last look: they get until the next one to be up to speed
	since  grown   // what comes is measured from here
	looks  int     // since then
}

// next is how many to add to n; over: no more will be, ever.
func (g *growth) next(now grown, n int) (add int, over bool) {
	took := time.Duration(g.looks+1) * lookEvery
	busy := float64(now.sending-g.since.sending) / float64(took) / float64(n)
	if g.added || busy < busyShare { // or the source, or nothing at all, is what holds the copy
		g.added, g.since, g.looks = false, now, 0
		return 0, false
	}
	g.looks++
	add = 1
	if float64(now.buf-g.since.buf) >= heldShare*float64(max(1, now.carrying-g.since.carrying)) {
		add = n
	} else if took < growAfter {
		return 0, false
	}
	rate := float64(now.sent-g.since.sent) / took.Seconds()
	long := took >= growAfter // else a rate is too coarse: what was sent counts in whole frames
	switch {
	case n >= mostGrown:
		return 0, true
	case g.before > 0 && rate < g.before*growBy:
		return 0, long
	}
	if g.before, g.added = 0, true; long {
		g.before = rate
	}
	return min(add, mostGrown-n), false
}
