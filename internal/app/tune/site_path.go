package tune

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/probe"
	"linerate/internal/study"
)

// pathLook is what is seen of a host's path without a load.
type pathLook struct {
	trips  study.Spread // seconds, of small requests to the host and back
	resent study.Spread // share of the host's TCP segments that were sent again
	bad    study.Spread // packets a second that its interfaces dropped or found damaged

	// To the peer, where there is one.
	peer    study.Spread // seconds, of datagrams there and back
	reaches bool         // they arrive, both ways
	mtu     int          // of the path, the smaller way; 0: not known
	flows   flows
}

// Intervals of a look: so many windows of this length.
const (
	lookWindow   = 250 * time.Millisecond
	fewSegments  = 100 // fewer in a window say nothing of their losses
	leastTrip    = time.Millisecond
	leastTripRel = 0.1   // of the median
	leastResent  = 0.002 // 0.2% of the segments
	leastBad     = 20    // packets a second
)

// look takes one: for some seconds it reads the host's counters and times small requests.
func (r *rollout) look(ctx context.Context, m *member) (l pathLook, err error) {
	var w measure.Watch
	if r.peer != nil {
		w.Addrs = []netip.Addr{r.peerTo}
	}
	stop, err := m.agent.StartSampling(ctx, w, lookWindow)
	if err != nil {
		return l, fmt.Errorf("look at its path: %w", err)
	}
	var trips []float64
	for range study.Least + 1 {
		c, cerr := m.agent.Clock(ctx)
		if cerr == nil {
			trips = append(trips, 2*c.Error.Seconds())
			select {
			case <-ctx.Done():
				cerr = context.Cause(ctx)
			case <-time.After(lookWindow):
			}
		}
		if cerr != nil {
			_, _ = stop() // the first error counts
			return l, fmt.Errorf("look at its path: %w", cerr)
		}
	}
	samples, err := stop()
	if err != nil {
		return l, fmt.Errorf("look at its path: %w", err)
	}
	l.trips = study.SpreadOf(trips)
	l.resent, l.bad = losses(samples)
	if r.peer != nil {
		l.flows = flowsOf(samples, r.peerTo)
		err = r.lookToPeer(ctx, m, &l)
	}
	return l, err
}

// losses are what the counters between each two samples say.
func losses(samples []model.Sample) (resent, bad study.Spread) {
	var shares, rates []float64
	for i := 1; i < len(samples); i++ {
		a, b := samples[i-1], samples[i]
		if sent := b.SNMP["Tcp.OutSegs"] - a.SNMP["Tcp.OutSegs"]; sent >= fewSegments {
			shares = append(shares, float64(b.SNMP["Tcp.RetransSegs"]-a.SNMP["Tcp.RetransSegs"])/float64(sent))
		}
		if span := b.HostAt.Sub(a.HostAt).Seconds(); span > 0 {
			rates = append(rates, float64(badPackets(b)-badPackets(a))/span)
		}
	}
	return study.SpreadOf(shares), study.SpreadOf(rates)
}

// badPackets are those that interfaces dropped or found damaged. One that came or went meanwhile
// makes a difference that is below zero, or counts once.
func badPackets(s model.Sample) (n int64) {
	for _, x := range s.NICs {
		n += x.RxErrors + x.TxErrors + x.RxDropped + x.TxDropped + x.RxMissed
	}
	return n
}

// lookToPeer probes the path to the peer with some datagrams.
func (r *rollout) lookToPeer(ctx context.Context, m *member, l *pathLook) error {
	select {
	case r.probing <- struct{}{}:
		defer func() { <-r.probing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	res, err := probe.Between(ctx, probe.Side{Name: m.Name, End: m.agent, Addr: m.From}, probe.Side{Name: r.o.Peer.String(), End: r.peer, Addr: r.peerTo}, rand.Text())
	if err != nil {
		return fmt.Errorf("look at its path to %s: %w", r.o.Peer, err)
	}
	l.reaches = res.AToB.Through.Value && res.BToA.Through.Value
	if t, ok := res.RTT.Get(); ok {
		l.peer = study.Spread{Low: t.Min.Seconds(), Median: t.Median.Seconds(), High: t.Max.Seconds(), N: t.N}
	}
	there, back := res.AToB.PathMTU.Value, res.BToA.PathMTU.Value
	if there > 0 && back > 0 {
		l.mtu = min(there, back)
	}
	return nil
}

// worse says what became worse of a path, beyond what it varies by itself; "" for nothing.
func worse(before, after pathLook) string {
	var out []string
	add := func(what string, b, a study.Spread, least float64, show func(float64) string) {
		by, floor, is := study.Worse(b, a, least)
		if is {
			out = append(out, fmt.Sprintf("%s went from %s to %s, and the floor is %s (A/A)", what, show(b.Median), show(b.Median+by), show(floor)))
		}
	}
	trip := func(what string, b, a study.Spread) {
		add(what, b, a, max(leastTrip.Seconds(), leastTripRel*b.Median), func(s float64) string {
			return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond).String()
		})
	}
	trip("the round trip to the host", before.trips, after.trips)
	trip("the round trip to the peer", before.peer, after.peer)
	add("the share of segments sent again", before.resent, after.resent, leastResent, func(x float64) string { return fmt.Sprintf("%.2g%%", 100*x) })
	add("dropped or damaged packets", before.bad, after.bad, leastBad, func(x float64) string { return fmt.Sprintf("%.0f/s", x) })
	if b, a, why := rate(before.flows, after.flows); why == "" {
		add("goodput to the peer", less(b), less(a), leastRateRel*b.Median, bits)
	}
	if before.reaches && !after.reaches {
		out = append(out, "datagrams do not reach the peer and come back any more")
	}
	if after.reaches && before.mtu > 0 && after.mtu < before.mtu {
		out = append(out, fmt.Sprintf("the path to the peer carries packets of %d bytes, and carried %d", after.mtu, before.mtu))
	}
	return strings.Join(out, "; ")
}

// words is what was seen of a path.
func (l pathLook) words() string {
	show := func(s float64) string {
		return time.Duration(s * float64(time.Second)).Round(10 * time.Microsecond).String()
	}
	text := "round trip " + show(l.trips.Median)
	if l.peer.N > 0 {
		text += ", to the peer " + show(l.peer.Median)
	}
	if l.mtu > 0 {
		text += fmt.Sprintf(", packets of %d bytes", l.mtu)
	}
	if l.resent.N >= study.Least {
		text += fmt.Sprintf(", %.2g%% sent again", 100*l.resent.Median)
	}
	return text
}
