package guide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An entry that is read alone is the one that is read with all.
func TestFindAsAll(t *testing.T) {
	for _, want := range All() {
		got, ok := Find(want.ID)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: %v %s", want.ID, ok, diff)
		}
	}
	for _, id := range []string{"", "linux", "linux.sysctl.net.ipv4.tcp_rme", "linux.sysctl.net.ipv4.tcp_rmem\n  title: x"} {
		if s, ok := Find(id); ok {
			t.Errorf("%q is %s", id, s.ID)
		}
	}
}
