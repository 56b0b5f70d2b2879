package onefs

import (
	"strings"
	"testing"
)

// Whatever is printed: a value that is taken stands behind its name, on a line of its own, and no line is
// passed over.
func FuzzPerNode(f *testing.F) {
	for _, said := range []string{"x.y: 1", "x.y=1", "a-1: x.y: 1\na-2: x.y=0", "x.y: 1\nx.y: 2", "a: x.y: 1\nx.y: 1", "x.y: 1\n\n", "a: x.y: 1 2", "x.y: -", "x.y:1", " x.y: 1\r"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		values, err := perNode("x.y", said)
		if err != nil {
			if values != nil {
				t.Errorf("%q: %v, although %v", said, values, err)
			}
			return
		}
		if lines := strings.Split(strings.TrimSpace(said), "\n"); len(lines) != len(values) {
			t.Errorf("%d values of %q", len(values), said)
		}
		for node, value := range values {
			ends := strings.Contains(said, "x.y: "+value) || strings.Contains(said, "x.y="+value)
			if !ends || node != whole && !strings.Contains(said, node+": x.y") {
				t.Errorf("%q: %s of %s", said, value, node)
			}
		}
	})
}
