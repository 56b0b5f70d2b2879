package explain

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
)

// TCP states, include/net/tcp_states.h.
const (
	tcpEstablished = 1
	tcpSynSent     = 2
	tcpSynRecv     = 3
	tcpTimeWait    = 6
	tcpListen      = 10
)

// obs is one connection as one sample shows it, which is not changed.
type obs struct {
	at time.Duration
	c  *model.Conn
}

// track is one connection of one end over time.
type track struct {
	local, remote netip.AddrPort
	obs           []obs
}

// flow is one connection, seen from the sender, the receiver or both.
type flow struct {
	snd, rcv []obs
	minor    bool // it moved next to nothing beside others
}

type trackKey struct {
	local, remote netip.AddrPort
	inode         uint32
}

// tracks lists the connections of an end that passed the handshake, in the
// order of their addresses. Of a connection whose counters went backwards (a
// new socket under the same addresses) only the last part is kept, since
// differences across the break mean nothing.
func tracks(e *End) []track {
	if e == nil {
		return nil
	}
	seen := map[trackKey]*track{}
	var keys []trackKey
	for _, s := range e.Samples {
		for i := range s.Conns {
			c := &s.Conns[i]
			if !carries(c) || !isPeer(e.Peer, c.Remote) {
				continue
			}
			k := trackKey{c.Local, c.Remote, c.Inode}
			if seen[k] == nil {
				seen[k] = &track{local: c.Local, remote: c.Remote}
				keys = append(keys, k)
			}
			seen[k].add(obs{s.At, c})
		}
	}
	slices.SortStableFunc(keys, func(a, b trackKey) int {
		return cmp.Or(a.local.Compare(b.local), a.remote.Compare(b.remote), cmp.Compare(a.inode, b.inode))
	})
	var out []track
	for _, k := range keys {
		out = append(out, *seen[k])
	}
	return out
}

func (t *track) add(o obs) {
	if n := len(t.obs); n > 0 {
		last := t.obs[n-1]
		if o.at <= last.at {
			return
		}
		if fell(last.c, o.c) {
			t.obs = t.obs[:0]
		}
	}
	t.obs = append(t.obs, o)
}

// fell tells whether counters went backwards, as those of a new socket do.
func fell(a, b *model.Conn) bool {
	return b.BytesAcked < a.BytesAcked || b.BytesReceived < a.BytesReceived || b.SegsOut < a.SegsOut
}

// carries: the connection is past the handshake, and the kernel counts what it moves.
func carries(c *model.Conn) bool {
	if older(c, infoAcked) {
		return false
	}
	switch c.State {
	case tcpSynSent, tcpSynRecv, tcpTimeWait, tcpListen:
		return false
	}
	return true
}

func isPeer(peer netip.Addr, remote netip.AddrPort) bool {
	return !peer.IsValid() || peer.Unmap() == remote.Addr().Unmap()
}

// pairUp pairs the connections of both ends by their mirrored addresses. One
// connection left over on each side (addresses translated on the way) is
// taken to be the same one.
func pairUp(snd, rcv []track) (flows, minor []flow) {
	used := make([]bool, len(rcv))
	var out []flow
	for _, s := range snd {
		f := flow{snd: s.obs}
		for i, r := range rcv {
			if !used[i] && r.local == s.remote && r.remote == s.local {
				f.rcv, used[i] = r.obs, true
				break
			}
		}
		out = append(out, f)
	}
	if len(snd) == 1 && len(rcv) == 1 && !used[0] {
		out[0].rcv, used[0] = rcv[0].obs, true
	}
	for i, r := range rcv {
		if !used[i] {
			out = append(out, flow{rcv: r.obs})
		}
	}
	return busiest(out)
}

// A connection that moved less than minorShare of all bytes, and little compared with the busiest,
// is control traffic beside a transfer, unless it had data waiting all the time. If all together
// moved less than minorBytes, there is no transfer, and none is left out. Among very many
// connections each moves little, so those that are left out may together have moved at most
// minorSum of all bytes.
const (
	minorShare  = 0.01
	minorBeside = 0.1
	minorSum    = 0.1
	minorBytes  = 64 << 10
)

// busiest parts minor connections from the others, and leaves out idle ones.
func busiest(fs []flow) (flows, minor []flow) {
	var total, most, apart int64
	for _, f := range fs {
		total, most = total+f.bytes(), max(most, f.bytes())
	}
	if total <= minorBytes {
		return slices.DeleteFunc(fs, func(f flow) bool { return f.bytes() == 0 && !f.trying() }), nil
	}
	little := min(minorShare*float64(total), minorBeside*float64(most))
	for _, at := range smallestFirst(fs) {
		f := &fs[at]
		if float64(f.bytes()) >= little || float64(apart+f.bytes()) > minorSum*float64(total) {
			break
		}
		if !f.wanting() {
			f.minor, apart = true, apart+f.bytes()
		}
	}
	for _, f := range fs {
		if f.minor {
			minor = append(minor, f)
		} else {
			flows = append(flows, f)
		}
	}
	return flows, minor
}

// smallestFirst is where flows are, those first that moved least.
func smallestFirst(fs []flow) []int {
	at := make([]int, len(fs))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(i, k int) int { return cmp.Compare(fs[i].bytes(), fs[k].bytes()) })
	return at
}

// bytes is what the flow moved over the recording, as the receiver counted it
// or else as the sender had it acknowledged.
func (f flow) bytes() int64 {
	if n := len(f.rcv); n > 1 {
		return f.rcv[n-1].c.BytesReceived - f.rcv[0].c.BytesReceived
	}
	if n := len(f.snd); n > 1 {
		return f.snd[n-1].c.BytesAcked - f.snd[0].c.BytesAcked
	}
	return 0
}

// trying tells whether the sender had data out or to send for longer than one
// sample: a blackholed connection moves nothing and is the most interesting.
func (f flow) trying() bool {
	for i := 1; i < len(f.snd); i++ {
		if waiting(f.snd[i-1].c) && waiting(f.snd[i].c) {
			return true
		}
	}
	return false
}

// waiting: data is in flight or queued at either end of the connection.
func waiting(c *model.Conn) bool { return c.Unacked > 0 || c.NotSent > 0 || c.RecvQ > 0 }
