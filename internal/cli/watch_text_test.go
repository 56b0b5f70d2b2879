package cli

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"linerate/internal/app/watch"
)

// A connection between two hosts that are watched is listed at both of its ends, and is one.
func TestConnectionsThatAreNotListed(t *testing.T) {
	from, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddrPort("10.0.0.2:5201")
	var snd, rcv []watch.Conn
	for i := range 21 {
		local := netip.AddrPortFrom(from, uint16(40000+i))
		snd, rcv = append(snd, watch.Conn{Local: local, Remote: to}), append(rcv, watch.Conn{Local: to, Remote: local})
	}
	for _, c := range []struct {
		conns  []watch.Conn
		untold int
		idle   bool
		want   string
	}{
		{snd, 0, false, "and 13 connections more"},
		{append(slices.Clone(snd), rcv...), 0, true, "and 13 connections more"},
		{append(slices.Clone(snd[:6]), rcv[:6]...), 0, false, ""},
		{append(slices.Clone(snd[:9]), rcv[:9]...), 0, false, "and 1 connection more"},
		{snd[:8], 0, true, ""},
		{snd, 4900, false, "and 4913 connections more"},
		{snd, 4900, true, "and 13 connections more, and 4900 idle or nearly so"},
		{snd[:4], 2996, true, "and 2996 connections more, idle or nearly so"},
	} {
		got := ""
		if notes := connTable(c.conns, c.untold, c.idle).Notes; len(notes) > 1 {
			got = fmt.Sprint(notes[0])
		}
		if got != c.want {
			t.Errorf("%d rows: %q, want %q", len(c.conns), got, c.want)
		}
	}
}
