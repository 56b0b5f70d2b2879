package reach

import (
	"net/netip"
	"testing"

	"linerate/internal/lab"
	"linerate/internal/unit"
)

// A lab states the rate of its flow: from each of its senders, to the data address of its receiver.
func TestALabPromisesItsFlow(t *testing.T) {
	s := lab.Status{Hosts: []lab.HostStatus{{Name: "client1", Data: "10.0.0.1"}, {Name: "client2", Data: "10.0.0.2"}, {Name: "nas1", Data: "10.0.0.100"}}}
	s.Flow.From, s.Flow.To, s.Flow.Rate = []string{"client1", "client2"}, "nas1", 1e9
	for _, c := range []struct {
		from, to, addr string
		want           bool
	}{{"client1", "nas1", "10.0.0.100", true}, {"client2", "nas1", "10.0.0.100", true}, {"client1", "nas1", "10.9.0.100", false}, {"nas1", "client1", "10.0.0.1", false},
		{"client1", "client2", "10.0.0.2", false}, {"nobody", "nas1", "10.0.0.100", false}} {
		r, ok := promised(s, c.from, c.to)
		if got := ok && r.Addrs[1] == netip.MustParseAddr(c.addr); got != c.want || ok && r.Rate != unit.Gbit {
			t.Errorf("%+v: %v, %+v", c, got, r)
		}
	}
}
