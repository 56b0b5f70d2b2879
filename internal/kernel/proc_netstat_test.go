package kernel

import (
	"maps"
	"testing"
)

// A parser that has read a file reads another in which the names changed, and refuses what does not
// belong together, as often as it is asked.
func TestNetstatReadsOverAndOver(t *testing.T) {
	var p Netstat
	for _, c := range []struct {
		text string
		want map[string]int64
	}{
		{"Tcp: A B\nTcp: 1 -1\nIp: A\nIp: 7\n", map[string]int64{"Tcp.A": 1, "Tcp.B": -1, "Ip.A": 7}},
		{"Tcp: A B\nTcp: 2 18446744073709551615\nIp: A\nIp: 8", map[string]int64{"Tcp.A": 2, "Ip.A": 8}},
		{"Tcp: A C\nTcp: 3 4\n", map[string]int64{"Tcp.A": 3, "Tcp.C": 4}},
		{"Tcp: A C\nTcp: 3\n", nil},
		{"Tcp: A C\nTcp: 3 4 5\n", nil},
		{"Tcp: A C\nIp: 3 4\n", nil},
		{"Tcp: A C\n", nil},
		{"nothing\n", nil},
		{"Tcp: A B\nTcp: 9 9\n", map[string]int64{"Tcp.A": 9, "Tcp.B": 9}},
	} {
		got := map[string]int64{}
		err := p.Parse([]byte(c.text), got)
		if (err == nil) != (c.want != nil) || c.want != nil && !maps.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
}
