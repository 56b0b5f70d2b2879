package loop

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

const (
	// foreignShare is the share of the link that foreign traffic may use during a load.
	foreignShare = 0.10
	// foreignFloor: if the link's rate is not known, foreignShare applies to the highest rate
	// seen on the interface, but the bound is never below this, which linerate's own samples
	// and a login may need.
	foreignFloor = 5 * unit.Mbit
	// guardSpan is the time over which rates are averaged: some NIC drivers refresh their
	// counters only once per second.
	guardSpan = time.Second
	// Errors count as rising from risingErrors within guardSpan on, drops from dropShare of
	// the packets and at least leastDrops on. A few drops are normal under load.
	risingErrors = 10
	dropShare    = 0.01
	leastDrops   = 100
	// ethernetBytes is what NIC counters add to the IP packet of a frame.
	ethernetBytes = 14
	tcpOptions    = 12 // timestamps
	// atOnce: connections and interfaces that were read within this time count as read at one
	// moment. What passed in a longer one is bounded by the reading after it.
	atOnce = 5 * time.Millisecond
)

// guard watches the data interfaces of both ends while a rung loads them. Foreign traffic is
// what an interface carries beyond linerate's own streams: the counters of the interface minus
// the bytes in tcp_info of linerate's connections.
type guard struct {
	link unit.BitRate // 0: not known
	mu   sync.Mutex
	nics map[string]*nicWatch // by host
}

// nicWatch is one interface over time.
type nicWatch struct {
	host, nic string
	header    int64 // bytes of a frame besides the payload
	most      unit.BitRate
	seen      []nicReading
	conns     map[connKey]model.Conn
}

type connKey struct{ local, remote netip.AddrPort }

// nicReading has cumulative counters; own counts from the first reading on.
type nicReading struct {
	at                    time.Time
	spread                time.Duration
	held                  int64 // sent, as its connection has it, but still in the queueing discipline
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

// begin discards all readings: the next rung has connections of its own.
func (g *guard) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.nics {
		w.seen, w.conns = nil, map[connKey]model.Conn{}
	}
}

// see takes a sample and returns why the load has to stop; nil: it may go on.
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

// add records a sample; false: the sample does not have the interface.
func (w *nicWatch) add(s model.Sample) bool {
	for _, n := range s.NICs {
		if n.Name != w.nic {
			continue
		}
		r := nicReading{at: s.HostAt, spread: s.Spread, held: heldBack(s.Qdiscs, w.nic), rx: n.RxBytes, tx: n.TxBytes, packets: n.RxPackets + n.TxPackets,
			drops: n.RxDropped + n.TxDropped, fails: n.RxErrors + n.TxErrors}
		gone := w.forgetGone(s.Conns)
		rx, tx, segsIn, segsOut := w.own(s.Conns)
		if len(w.seen) > 0 {
			last := w.seen[len(w.seen)-1]
			r.ownRx, r.ownTx = last.ownRx+rx+segsIn*w.header, last.ownTx+tx+segsOut*w.header
			if gone {
				r.ownRx, r.ownTx = max(r.ownRx, last.ownRx+r.rx-last.rx), max(r.ownTx, last.ownTx+r.tx-last.tx)
			}
		}
		w.seen = append(w.seen, r)
		return true
	}
	return false
}

// heldBack is what waits in the queueing discipline of an interface.
func heldBack(all []model.QdiscCount, nic string) (bytes int64) {
	for _, q := range all {
		if q.Dev == nic {
			bytes += q.Backlog
		}
	}
	return bytes
}

// forgetGone reports whether a connection has ended since the previous reading. What it moved after
// that reading is not known: a tenth of a second's worth, and more on a busy host. So no traffic of
// that time may be called foreign.
func (w *nicWatch) forgetGone(conns []model.Conn) (gone bool) {
	for k, c := range w.conns {
		if !slices.ContainsFunc(conns, func(n model.Conn) bool {
			return n.Local == k.local && n.Remote == k.remote && n.Inode == c.Inode
		}) {
			delete(w.conns, k)
			gone = true
		}
	}
	return gone
}

// newest is the last reading that can be judged. The connections are read before the
// interface: if the host was too busy to read both at one moment, what linerate's own moved
// between the two would pass for foreign. By the next reading they had moved at least as much.
func (w *nicWatch) newest() (at int, r nicReading) {
	at = len(w.seen) - 1
	r = w.seen[at]
	if r.spread <= atOnce || at == 0 {
		return at, r
	}
	at--
	after := r
	r = w.seen[at]
	if r.spread > atOnce {
		r.ownRx, r.ownTx = after.ownRx, after.ownTx
	}
	return at, r
}

// own is what linerate's connections moved since the previous sample. Segments are those on
// the wire; a virtual interface counts fewer and larger packets, so that the headers of
// linerate's packets are overestimated there by at most a twentieth.
func (w *nicWatch) own(conns []model.Conn) (rx, tx, segsIn, segsOut int64) {
	if w.conns == nil {
		w.conns = map[connKey]model.Conn{}
	}
	for _, c := range conns {
		k := connKey{c.Local, c.Remote}
		p, ok := w.conns[k]
		w.conns[k] = c
		if !ok || c.Inode != p.Inode {
			p = model.Conn{} // it began after the previous reading
		}
		rx += max(0, c.BytesReceived-p.BytesReceived) + twice(p, c)
		tx += max(0, sent(c)-sent(p))
		segsIn += max(0, c.SegsIn-p.SegsIn)
		segsOut += max(0, c.SegsOut-p.SegsOut)
	}
	return rx, tx, segsIn, segsOut
}

// twice is the payload that came in a second time, between two samples. The socket counts it
// as segments and as drops, not as bytes received.
func twice(p, c model.Conn) int64 {
	beyond := (c.DataSegsIn-p.DataSegsIn)*int64(c.RcvMSS) - (c.BytesReceived - p.BytesReceived)
	return max(0, min(beyond, (c.SockDrops-p.SockDrops)*int64(c.RcvMSS)))
}

// sent includes retransmissions if the kernel counts them (Linux 4.19).
func sent(c model.Conn) int64 { return cmp.Or(c.BytesSent, c.BytesAcked) }

// judge compares the newest reading with the newest one at least guardSpan
// older.
func (w *nicWatch) judge(link unit.BitRate) string {
	i, now := w.newest()
	for ; i >= 0 && now.at.Sub(w.seen[i].at) < guardSpan; i-- {
	}
	if i < 0 {
		return ""
	}
	was := w.seen[i]
	w.seen = w.seen[i:] // older ones are no longer needed
	span := now.at.Sub(was.at).Seconds()
	per := func(b int64) unit.BitRate { return unit.BitRate(float64(max(0, b)) * 8 / span) }
	w.most = max(w.most, per(now.rx-was.rx), per(now.tx-was.tx))
	limit, of := foreignShare*link, "the link"
	if link <= 0 {
		limit, of = max(foreignShare*w.most, foreignFloor), "the highest rate seen on the interface (its link's rate is not known: state it with --line-rate)"
	}
	in, out := per(now.rx-was.rx-(now.ownRx-was.ownRx)), per(now.tx-was.tx-(now.ownTx-was.ownTx)-was.held)
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
