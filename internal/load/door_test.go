package load

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// knocker is the sink's end of a connection from an address.
type knocker struct {
	net.Conn
	from   net.Addr
	said   strings.Builder
	closed bool
}

func (k *knocker) RemoteAddr() net.Addr             { return k.from }
func (k *knocker) Write(b []byte) (int, error)      { return k.said.Write(b) }
func (k *knocker) SetWriteDeadline(time.Time) error { return nil }
func (k *knocker) Close() error                     { k.closed = true; return nil }
func knockFrom(addr string) *knocker {
	return &knocker{from: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr))}
}

func testDoor(from string, streams, conns int) *door {
	d := &door{spec: Spec{Streams: streams, MaxConns: conns}, proven: make([]net.Conn, streams), full: make(chan struct{})}
	if from != "" {
		d.spec.From = netip.MustParseAddr(from)
	}
	return d
}

// However many come from however many other places, and whoever came first, the run's own
// connections that are in the middle of the proof stay.
func TestFloodDoesNotEvictTheSource(t *testing.T) {
	for name, from := range map[string][2]string{
		"IPv4":        {"192.0.2.7", "192.0.2.7:40000"},
		"IPv4 in 6":   {"192.0.2.7", "[::ffff:192.0.2.7]:40000"},
		"IPv6":        {"2001:db8::7", "[2001:db8::7]:40000"},
		"IPv6 scoped": {"fe80::7", "[fe80::7%eth0]:40000"},
	} {
		d := testDoor(from[0], 4, 12)
		var own []*knocker
		for range 4 {
			own = append(own, knockFrom(from[1]))
			d.admit(own[len(own)-1])
		}
		for n := range 1000 {
			addr := netip.AddrFrom4([4]byte{198, 51, byte(n / 200), byte(n % 5)})
			if n%2 == 1 {
				addr = netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 1, 0, 0, byte(n % 7), 15: byte(n)})
			}
			d.admit(knockFrom(netip.AddrPortFrom(addr, 1000).String()))
			if len(d.pending) > 12 {
				t.Fatalf("%s: %d connections are held", name, len(d.pending))
			}
		}
		for i, k := range own {
			if k.closed {
				t.Errorf("%s: connection %d of the run was let go", name, i)
			}
		}
		if d.evicted < 900 {
			t.Errorf("%s: %d evictions are counted", name, d.evicted)
		}
	}
}

// One place that floods takes a quarter at most, so that another, which nobody announced
// (an address translated on the way), gets in as well.
func TestQuotaOfASource(t *testing.T) {
	d := testDoor("", 1, 16)
	other := knockFrom("198.51.100.9:1")
	d.admit(other)
	var flood []*knocker
	for range 100 {
		flood = append(flood, knockFrom("203.0.113.5:1"))
		d.admit(flood[len(flood)-1])
	}
	if other.closed || len(d.pending) != 5 || d.evicted != 96 {
		t.Errorf("the other is closed: %v, %d held, %d evicted", other.closed, len(d.pending), d.evicted)
	}
	for i, k := range flood {
		if k.closed != (i < 96) || k.closed && k.said.String() != busy {
			t.Errorf("connection %d: closed %v, told %q", i, k.closed, k.said.String())
		}
	}
	// A /64 of IPv6 is one place.
	d = testDoor("", 1, 16)
	for n := range 100 {
		d.admit(knockFrom(netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(n)}), 1).String()))
	}
	if len(d.pending) != 4 {
		t.Errorf("%d of one /64 are held", len(d.pending))
	}
}

// What ended the wait says who came meanwhile.
func TestCrowdIsSaid(t *testing.T) {
	d := testDoor("", 1, 4)
	cause := errors.New("the controller ended it")
	if err := d.crowd(cause); err != cause {
		t.Error(err)
	}
	for range 3 {
		d.admit(knockFrom("203.0.113.5:1"))
	}
	if err := d.crowd(cause); !errors.Is(err, cause) || !strings.Contains(err.Error(), "2 gave way") {
		t.Error(err)
	}
}

// A source that is let go says so, and not that the tokens differ.
func TestEvictedSourceSaysWhy(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			if n%2 == 1 { // in the middle of the proof
				_, _ = c.Write(appendChallenge(nil, nonce{1}))
				_, _ = io.ReadFull(c, make([]byte, responseLen))
			}
			_, _ = c.Write([]byte(busy))
			_ = c.Close()
		}
	}()
	spec := testSpec(Source)
	spec.Peer = netip.MustParseAddrPort(ln.Addr().String())
	w := &load{spec: spec, lim: limits{proof: bound, connect: bound}}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("time is over"))
	defer cancel()
	if _, err := w.connect(ctx, 0); !errors.Is(err, errBusy) || strings.Contains(err.Error(), "tokens differ") {
		t.Error(err)
	}
}

// That the time is over after the sink let go of connections is not the network's doing: whoever
// floods from the source's own address would have the path blamed.
func TestFloodedSourceDoesNotBlameThePath(t *testing.T) {
	for _, silentFrom := range []int{1 << 30, 1} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			for n := 0; ; n++ {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				if n >= silentFrom {
					defer c.Close() // held, and never answered
					continue
				}
				_, _ = c.Write([]byte(busy))
				_ = c.Close()
			}
		}()
		spec := testSpec(Source)
		spec.Peer = netip.MustParseAddrPort(ln.Addr().String())
		w := &load{spec: spec, lim: limits{proof: bound, connect: 400 * time.Millisecond}}
		err = w.connectAll(t.Context(), nil)
		var unreached *UnreachedError
		if !errors.Is(err, errBusy) || errors.As(err, &unreached) || strings.Contains(err.Error(), "does the network") {
			t.Errorf("silent from %d: %v", silentFrom, err)
		}
	}
}

// Where each answer takes as long as a long path does, streams do not wait for each other: here nobody is
// answered before as many wait as may.
func TestStreamsKnockTogether(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	spec := testSpec(Source)
	spec.Streams, spec.Peer = 1+2*atOnce, netip.MustParseAddrPort(ln.Addr().String())
	d := &door{spec: spec, proof: bound, proven: make([]net.Conn, spec.Streams), full: make(chan struct{})}
	go func() {
		for _, together := range []int{1, atOnce, atOnce} {
			var waiting []net.Conn
			for range together {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				waiting = append(waiting, c)
			}
			for _, c := range waiting {
				d.admit(c)
				d.prove(c)
			}
		}
	}()
	w, s := &load{spec: spec, lim: limits{proof: bound, connect: bound}}, newSession(spec)
	if err := w.connectAll(t.Context(), s); err != nil || len(s.streams) != spec.Streams {
		t.Errorf("%d streams are up: %v", len(s.streams), err)
	}
	s.close()
	for _, c := range d.shut() {
		_ = c.Close()
	}
}
