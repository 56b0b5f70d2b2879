package reach

import (
	"net/netip"
	"testing"

	"linerate/internal/failure"
)

func TestAPathWithinOneHostIsRefused(t *testing.T) {
	for _, c := range []struct {
		from, to string
		ok       bool
	}{
		{"10.40.0.1", "10.40.0.2", true},
		{"10.40.0.1", "10.40.0.1", false},
		{"10.40.0.1", "127.0.1.1", false},
		{"fd00::1", "::1", false},
		{"fd00::1", "::ffff:127.0.0.1", false},
		{"fd00::1", "fd00::2", true},
	} {
		err := TwoHosts(netip.MustParseAddr(c.from), netip.MustParseAddr(c.to))
		if (err == nil) != c.ok || err != nil && failure.KindOf(err) != failure.Usage {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}
