package watch

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// Hosts that are reached late are known then, and an address of two is nobody's.
func TestBookOfAddresses(t *testing.T) {
	addr := netip.MustParseAddr
	b := newBook(3)
	b.set(0, []netip.Addr{addr("10.0.0.1"), addr("172.17.0.1")})
	if got := b.own(0); len(got) != 2 || len(b.peers(0)) != 0 || len(b.own(1)) != 0 {
		t.Errorf("%v", got)
	}
	b.set(1, []netip.Addr{addr("10.0.0.2"), addr("172.17.0.1")})
	if got := b.own(0); !slices.Equal(got, []netip.Addr{addr("10.0.0.1")}) || !slices.Equal(b.peers(2), []netip.Addr{addr("10.0.0.1"), addr("10.0.0.2")}) {
		t.Errorf("%v, %v", got, b.peers(2))
	}
	if err := b.check([]string{"a", "b", "c"}); err != nil {
		t.Errorf("c was not reached yet: %v", err)
	}
	b.set(2, []netip.Addr{addr("10.0.0.2")})
	if err := b.check([]string{"a", "b", "c"}); err == nil || !strings.Contains(err.Error(), "b has no address of its own") {
		t.Error(err)
	}
}
