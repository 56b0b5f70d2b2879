package serve

import (
	"testing"

	"linerate/internal/app/watch"
)

// A file of hosts is refused, or has as many hosts as can be watched and a rate that is one.
func FuzzParseHosts(f *testing.F) {
	for _, s := range []string{
		"v: 1\nhosts: [nas1, nas2]\n", "v: 1\nhosts: [a, b, c]\nline_rate: 10Gbit\n", "v: 2\nhosts: []", "v: 1\nhosts: [a, b]\nline_rate: -1",
		"v: 1\nhosts: &a [*a]", "v: ! #0\nhosts: [a, b]", "hosts: {a: {a: {a: b}}}", "v: 1\nhosts: [\"a\\u202e\", b]\nline_rate: 1e400Gbit",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := parseHosts("hosts.yaml", text)
		if err != nil {
			return
		}
		if len(h.Names) < 2 || len(h.Names) > watch.MaxHosts || h.LineRate.Or(1) <= 0 {
			t.Errorf("accepted %+v", h)
		}
	})
}
