package loop

import (
	"cmp"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

const (
	// foreignShare of the link may be foreign traffic while we load it.
	foreignShare = 0.10
	// foreignFloor: where the link's rate is not known the share is one of the
	// most that was seen on the interface, but never less than this, which our
	// own samples and a login may need.
	foreignFloor = 5 * unit.Mbit
	// guardSpan is what a rate is the mean of: NIC drivers refresh their
	// counters up to once a second.
	guardSpan = time.Second
	// risingErrors within guardSpan, or dropShare of the packets and no fewer
	// than leastDrops, are errors that rise. A few drops are the normal answer
	// to a load.
	risingErrors = 10
	dropShare    = 0.01
	leastDrops   = 100
	// ethernetBytes is what NIC counters count of a frame beside the IP packet.
	ethernetBytes = 14
	tcpOptions    = 12 // timestamps
)

// guard watches the data interfaces of both ends while a rung loads them. What
// an interface carries beyond our own streams is foreign: the counters of the
// interface minus the bytes that tcp_info tells of our connections.
type guard struct {
	link unit.BitRate // 0: not known
	mu   sync.Mutex
	nics map[string]*nicWatch // by host
}

// nicWatch is one interface over time.
type nicWatch struct {
	host, nic string
	header    int64 // bytes of a frame beside the payload
	most      unit.BitRate
	seen      []nicReading
	conns     map[connKey]model.Conn
}

type connKey struct{ local, remote netip.AddrPort }

// nicReading is cumulative; own counts from the first reading on.
type nicReading struct {
	at                    time.Time
	rx, tx, ownRx, ownTx  int64
	packets, drops, fails int64
}

func newGuard(link unit.BitRate, ends ...*namedAddr) *guard {
	g := &guard{link: link, nics: map[string]*nicWatch{}}
	for _, e := range ends {
		if nic := nicOf(e.facts, e.addr); nic != "" {
			ip := int64(20)
			if e.addr.Is6() && !e.addr.Is4In6() {
				ip = 40
			}
			g.nics[e.host] = &nicWatch{host: e.host, nic: nic, header: ethernetBytes + ip + 20 + tcpOptions}
		}
	}
	return g
}

// namedAddr is a host's data address with its facts.
type namedAddr struct {
	host  string
	facts *model.Facts
	addr  netip.Addr
}

// nicOf is the interface that has an address.
func nicOf(f *model.Facts, addr netip.Addr) string {
	for _, n := range f.NICs {
		for _, p := range n.Addrs {
			if p.Addr().Unmap() == addr.Unmap() {
				return n.Name
			}
		}
	}
	return ""
}

// begin forgets what was seen: the next rung has connections of its own.
func (g *guard) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.nics {
		w.seen, w.conns = nil, map[connKey]model.Conn{}
	}
}

// see takes a sample and says why the load has to stop; nil: go on.
func (g *guard) see(host string, s model.Sample) *measure.StoppedError {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.nics[host]
	if w == nil || !w.add(s) {
		return nil
	}
	if why := w.judge(g.link); why != "" {
		return &measure.StoppedError{Why: why}
	}
	return nil
}

// add notes a sample; false: it does not show the interface.
func (w *nicWatch) add(s model.Sample) bool {
	for _, n := range s.NICs {
		if n.Name != w.nic {
			continue
		}
		r := nicReading{at: s.HostAt, rx: n.RxBytes, tx: n.TxBytes, packets: n.RxPackets + n.TxPackets,
			drops: n.RxDropped + n.TxDropped, fails: n.RxErrors + n.TxErrors}
		rx, tx, segsIn, segsOut := w.own(s.Conns)
		if len(w.seen) > 0 {
			last := w.seen[len(w.seen)-1]
			r.ownRx, r.ownTx = last.ownRx+rx+segsIn*w.header, last.ownTx+tx+segsOut*w.header
		}
		w.seen = append(w.seen, r)
		return true
	}
	return false
}

// own is what our connections moved since the sample before. Segments are as
// on the wire; a virtual interface counts fewer and larger packets, so that our
// own headers are overrated there by at most a twentieth.
func (w *nicWatch) own(conns []model.Conn) (rx, tx, segsIn, segsOut int64) {
	if w.conns == nil {
		w.conns = map[connKey]model.Conn{}
	}
	for _, c := range conns {
		k := connKey{c.Local, c.Remote}
		p, ok := w.conns[k]
		w.conns[k] = c
		if !ok || c.Inode != p.Inode {
			p = model.Conn{} // it began since the reading before
		}
		rx += max(0, c.BytesReceived-p.BytesReceived)
		tx += max(0, sent(c)-sent(p))
		segsIn += max(0, c.SegsIn-p.SegsIn)
		segsOut += max(0, c.SegsOut-p.SegsOut)
	}
	return rx, tx, segsIn, segsOut
}

// sent is with retransmissions, where the kernel counts them (Linux 4.19).
func sent(c model.Conn) int64 { return cmp.Or(c.BytesSent, c.BytesAcked) }

// judge compares the newest reading with the newest one at least guardSpan
// older.
func (w *nicWatch) judge(link unit.BitRate) string {
	now := w.seen[len(w.seen)-1]
	i := len(w.seen) - 1
	for ; i >= 0 && now.at.Sub(w.seen[i].at) < guardSpan; i-- {
	}
	if i < 0 {
		return ""
	}
	was := w.seen[i]
	w.seen = w.seen[i:] // older ones are not needed again
	span := now.at.Sub(was.at).Seconds()
	per := func(b int64) unit.BitRate { return unit.BitRate(float64(max(0, b)) * 8 / span) }
	w.most = max(w.most, per(now.rx-was.rx), per(now.tx-was.tx))
	limit, of := foreignShare*link, "the link"
	if link <= 0 {
		limit, of = max(foreignShare*w.most, foreignFloor), "what the interface was seen to carry (its link's rate is not known: state it with --line-rate)"
	}
	in, out := per(now.rx-was.rx-(now.ownRx-was.ownRx)), per(now.tx-was.tx-(now.ownTx-was.ownTx))
	if f := max(in, out); f > limit {
		return fmt.Sprintf("%s of other traffic on %s of %s (%s in, %s out), more than 10%% of %s", f, w.nic, w.host, in, out, of)
	}
	drops, packets := now.drops-was.drops, now.packets-was.packets
	if n := now.fails - was.fails; n >= risingErrors {
		return fmt.Sprintf("errors rise on %s of %s: %d within %.1f s", w.nic, w.host, n, span)
	}
	if drops >= leastDrops && float64(drops) > dropShare*float64(packets) {
		return fmt.Sprintf("drops rise on %s of %s: %d within %.1f s, of %d packets", w.nic, w.host, drops, span, packets)
	}
	return ""
}
