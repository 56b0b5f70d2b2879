package loop

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// peer is the traffic to and from one address.
type peer struct {
	addr           netip.Addr
	sent, received int64 // bytes acknowledged, bytes received
	conns          int
	// stuck: a connection is not idle but retransmits the same segment without an answer, each
	// time after twice the wait (tcp_info's backoff).
	stuck bool
}

// bytes is the larger direction: data flows one way, the other carries requests.
func (p peer) bytes() int64 { return max(p.sent, p.received) }

// traffic sums by peer what each connection acknowledged and received between
// its first and last appearance, the busiest peer first, a stuck one before
// those that are idle.
func traffic(samples []model.Sample) []peer {
	type ends struct{ local, remote netip.AddrPort }
	first := map[ends]model.Conn{}
	last := map[ends]model.Conn{}
	for _, s := range samples {
		for _, c := range s.Conns {
			k := ends{c.Local, c.Remote}
			if f, ok := first[k]; !ok || c.Inode != f.Inode {
				first[k] = c
			}
			last[k] = c
		}
	}
	by := map[netip.Addr]*peer{}
	for k, l := range last {
		a := k.remote.Addr().Unmap()
		if by[a] == nil {
			by[a] = &peer{addr: a}
		}
		p := by[a]
		p.sent += max(0, l.BytesAcked-first[k].BytesAcked)
		p.received += max(0, l.BytesReceived-first[k].BytesReceived)
		p.conns++
	}
	if n := len(samples); n > 0 {
		for _, c := range samples[n-1].Conns {
			if c.Backoff >= 2 && c.Unacked > 0 {
				by[c.Remote.Addr().Unmap()].stuck = true
			}
		}
	}
	out := make([]peer, 0, len(by))
	for _, p := range by {
		out = append(out, *p)
	}
	rank := func(p peer) int {
		switch {
		case rate(p.bytes(), samples) >= moving:
			return 2
		case p.stuck:
			return 1
		}
		return 0
	}
	slices.SortFunc(out, func(a, b peer) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.bytes(), a.bytes()), a.addr.Compare(b.addr))
	})
	return out
}

// idle reports whether there is nothing to judge.
func idle(peers []peer, samples []model.Sample) bool {
	return !slices.ContainsFunc(peers, func(p peer) bool { return p.stuck || rate(p.bytes(), samples) >= moving })
}

func conns(peers []peer) (n int) {
	for _, p := range peers {
		n += p.conns
	}
	return n
}

func rate(bytes int64, samples []model.Sample) unit.BitRate {
	if len(samples) < 2 {
		return 0
	}
	d := samples[len(samples)-1].At - samples[0].At
	if d <= 0 {
		return 0
	}
	return unit.BitRate(float64(bytes) * 8 / d.Seconds())
}

// ended reports whether the watched process is gone: its threads, which can always be seen, no
// longer exist.
func (w *Watch) ended(samples []model.Sample) bool {
	return w.Target.PID > 0 && !w.Target.NoTasks && len(samples) > 0 && len(samples[len(samples)-1].Tasks) == 0
}

// forgetMount removes the mount's statistics from samples whose judged connections are
// not those of the mount.
func forgetMount(samples []model.Sample) {
	for i := range samples {
		samples[i].NFS = nil
	}
}

// maxNamed is how many peers a note names.
const maxNamed = 4

// notes returns the remarks on what was watched.
func (w *Watch) notes(peers []peer, samples []model.Sample) []string {
	out := slices.Clone(w.Target.Notes)
	if len(peers) > 1 {
		var rest []string
		for _, p := range peers[1:min(len(peers), 1+maxNamed)] {
			what := "idle"
			if r := rate(p.bytes(), samples); r >= moving {
				what = r.String()
			}
			rest = append(rest, fmt.Sprintf("%s (%s)", p.addr, what))
		}
		if more := len(peers) - 1 - maxNamed; more > 0 {
			rest = append(rest, fmt.Sprintf("%d more", more))
		}
		out = append(out, fmt.Sprintf("judged are the connections to %s, which move most (%s); not judged: %s",
			peers[0].addr, rate(peers[0].bytes(), samples), strings.Join(rest, ", ")))
	}
	if w.Target.PID > 0 && slices.Contains(w.Target.Peers, peers[0].addr) {
		out = append(out, fmt.Sprintf("the connections to %s are the kernel's: other programs that use the same storage share them", peers[0].addr))
	}
	if w.ended(samples) {
		out = append(out, "the process ended while it was watched")
	}
	if w.clock != 0 {
		out = append(out, fmt.Sprintf("the clock of this host was set by %s while it was watched; times are counted without that", w.clock.Round(time.Millisecond)))
	}
	return out
}

// clockSlack is by how much the span of the samples may exceed the time that they took on
// another clock before the host's clock is considered to have been set, and not just read
// late.
const clockSlack = time.Second

// setClock converts the times of one host's samples to times since the first, without the
// jumps of a clock that was set meanwhile. A step back counts as one interval. If the samples
// span more than elapsed, the largest gap counts as a jump forward. It returns the sum of the
// jumps.
func setClock(samples []model.Sample, elapsed time.Duration) (jumps time.Duration) {
	widest, gap := 0, time.Duration(0)
	for i := range samples {
		if i == 0 {
			samples[i].At = 0
			continue
		}
		d := samples[i].HostAt.Sub(samples[i-1].HostAt)
		if d < 0 {
			jumps += d - sampleInterval
			d = sampleInterval
		}
		samples[i].At = samples[i-1].At + d
		if d > gap {
			widest, gap = i, d
		}
	}
	if len(samples) == 0 {
		return 0
	}
	over := samples[len(samples)-1].At - elapsed
	if over <= clockSlack {
		return jumps
	}
	over = min(over, gap-min(gap, sampleInterval))
	for i := widest; i < len(samples); i++ {
		samples[i].At -= over
	}
	return jumps + over
}
