package probe

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"
)

var loopback = netip.MustParseAddr("127.0.0.1")

func openBoth(t *testing.T, addr netip.Addr, tokens ...string) (a, b *Socket) {
	t.Helper()
	var out []*Socket
	for _, token := range tokens {
		s, err := Open(Spec{Local: addr, Peer: addr, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		out = append(out, s)
	}
	return out[0], out[1]
}

func TestSocketsCountWhatArrives(t *testing.T) {
	for _, addr := range []netip.Addr{loopback, netip.IPv6Loopback()} {
		token := strings.Repeat("0a", 16)
		if addr.Is6() {
			if s, err := Open(Spec{Local: addr, Peer: addr, Token: token}); err != nil {
				t.Logf("without IPv6: %v", err)
				continue
			} else if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		a, b := openBoth(t, addr, token, token)
		s, err := a.Send(t.Context(), Batch{Port: b.Port(), Round: 4, Sizes: []int{9000, 9000, 1500, 0, 0}})
		if err != nil || s.Datagrams != 5 || s.Bytes < 19500 {
			t.Fatalf("%+v, %v", s, err)
		}
		h, err := b.Await(t.Context(), Await{Round: 4, Marks: 2, Wait: MaxWait})
		if err != nil || h.Marks != 2 || h.Sizes[9000] != 2 || h.Sizes[1500] != 1 || len(h.Arrive) != 1 {
			t.Errorf("%+v, %v", h, err)
		}
		rtt, err := a.Echo(t.Context(), Echo{Port: b.Port(), N: 5, Wait: MaxWait})
		if err != nil || rtt.N != 5 || rtt.Min <= 0 || rtt.Median < rtt.Min || rtt.Max < rtt.Median {
			t.Errorf("%+v, %v", rtt, err)
		}
	}
}

// Who does not know the token is neither counted nor answered.
func TestSocketIgnoresStrangers(t *testing.T) {
	a, b := openBoth(t, loopback, strings.Repeat("0a", 16), strings.Repeat("0b", 16))
	c, err := net.Dial("udp", netip.AddrPortFrom(loopback, b.Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, junk := range []string{"", "LRP1", strings.Repeat("x", 3000)} {
		if _, err := c.Write([]byte(junk)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Send(t.Context(), Batch{Port: b.Port(), Round: 1, Sizes: []int{1500, 0}}); err != nil {
		t.Fatal(err)
	}
	rtt, err := a.Echo(t.Context(), Echo{Port: b.Port(), N: 1, Wait: 50 * time.Millisecond})
	if err != nil || rtt.N != 0 || rtt.Sent != 1 {
		t.Errorf("%+v, %v", rtt, err)
	}
	if h, err := b.Await(t.Context(), Await{Round: 1, Wait: 0}); err != nil || h.Marks != 0 || len(h.Sizes) != 0 {
		t.Errorf("%+v, %v", h, err)
	}
}

// A port that nobody hears on comes back as an ICMP error, which is no failure
// of the next datagram.
func TestSocketTakesErrorsForLoss(t *testing.T) {
	a, b := openBoth(t, loopback, strings.Repeat("0a", 16), strings.Repeat("0a", 16))
	port := b.Port()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if s, err := a.Send(t.Context(), Batch{Port: port, Round: 1, Sizes: []int{0, 0, 0, 0}}); err != nil || s.Datagrams != 4 || s.Told != 0 {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestSocketRefuses(t *testing.T) {
	good := strings.Repeat("0a", 16)
	for name, s := range map[string]Spec{
		"every address": {Local: netip.IPv4Unspecified(), Peer: loopback, Token: good},
		"a group":       {Local: loopback, Peer: netip.MustParseAddr("224.0.0.1"), Token: good},
		"all hosts":     {Local: loopback, Peer: netip.MustParseAddr("255.255.255.255"), Token: good},
		"two kinds":     {Local: loopback, Peer: netip.IPv6Loopback(), Token: good},
		"no address":    {Token: good},
		"short token":   {Local: loopback, Peer: loopback, Token: "0a"},
		"not ours":      {Local: netip.MustParseAddr("192.0.2.1"), Peer: loopback, Token: good},
	} {
		if k, err := Open(s); err == nil {
			t.Errorf("%s: opened", name)
			_ = k.Close()
		}
	}
	a, b := openBoth(t, loopback, good, good)
	for name, batch := range map[string]Batch{
		"too many":  {Port: b.Port(), Sizes: make([]int, MaxSizes+1)},
		"too small": {Port: b.Port(), Sizes: []int{40}},
		"too large": {Port: b.Port(), Sizes: []int{70000}},
		"no port":   {Sizes: []int{0}},
	} {
		if _, err := a.Send(t.Context(), batch); err == nil {
			t.Errorf("%s: sent", name)
		}
	}
	a.left = 2
	if s, err := a.Send(t.Context(), Batch{Port: b.Port(), Sizes: []int{0, 0, 0}}); err == nil || s.Datagrams != 2 {
		t.Errorf("sent %+v beyond its bound: %v", s, err)
	}
	if _, err := a.Await(t.Context(), Await{Wait: time.Hour}); err == nil {
		t.Error("waits for an hour")
	}
	if _, err := a.Echo(t.Context(), Echo{Port: b.Port(), N: 1000, Wait: time.Second}); err == nil {
		t.Error("asks a thousand times")
	}
}

func FuzzControl(f *testing.F) {
	f.Add([]byte{})
	// A hop limit that expired at 10.0.0.9: cmsghdr, sock_extended_err, sockaddr_in.
	f.Add([]byte{48, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, 0, 0, 0, 113, 0, 0, 0, 2, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 10, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 10, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		parseArrival(b)
		if e, ok := parseTooBig(b); ok && (e.mtu < 0 || e.mtu > 1<<16) {
			t.Errorf("%+v", e)
		}
		if by, ok := parseExpired(b); !ok && by.IsValid() {
			t.Errorf("no hop limit expired, and yet at %v", by)
		}
	})
}
