package guide

import (
	"testing"
	"time"

	"linerate/internal/unit"
)

func TestValueFor(t *testing.T) {
	for _, c := range []struct {
		id, release string
		rate        unit.BitRate
		rtt         time.Duration
		want        string
	}{
		// 40 Gbit/s × 16 ms are 80 MB.
		{"linux.sysctl.net.ipv4.tcp_rmem", "6.18", 40 * unit.Gbit, 16 * time.Millisecond, "4096 131072 160000000"},
		{"linux.sysctl.net.ipv4.tcp_wmem", "6.18", 40 * unit.Gbit, 16 * time.Millisecond, "4096 16384 120000000"},
		{"linux.sysctl.net.core.rmem_max", "6.18", 40 * unit.Gbit, 16 * time.Millisecond, "80000000"},
		// The default is enough in a local network.
		{"linux.sysctl.net.ipv4.tcp_rmem", "6.18", 10 * unit.Gbit, 200 * time.Microsecond, "4096 131072 33554432"},
		{"illumos.ipadm.tcp.send_buf", "6.18", 10 * unit.Gbit, 200 * time.Microsecond, "375000"},
		{"linux.link.mtu", "6.18", unit.Gbit, time.Millisecond, ""},
		{"linux.sysctl.net.ipv4.tcp_rmem", "6.18", 0, time.Millisecond, ""},
		{"linux.sysctl.net.ipv4.tcp_rmem", "6.18", 400 * unit.Gbit, time.Hour, ""},
	} {
		s, ok := Find(c.id)
		if !ok {
			t.Fatalf("no %s", c.id)
		}
		r, err := ParseRelease(c.release)
		if err != nil {
			t.Fatal(err)
		}
		d, _ := s.DefaultOn(r)
		got, ok := s.ValueFor(d, c.rate, c.rtt)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s at %v and %v: %q, want %q", c.id, c.rate, c.rtt, got, c.want)
		}
	}
}
