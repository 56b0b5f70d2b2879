package fault

import (
	"context"
	"strings"
	"testing"

	"linerate/internal/lab/topology"
)

func TestFill(t *testing.T) {
	const mounts = "tmpfs / tmpfs rw 0 0\nlinerate /run/lab/disk-pool.image tmpfs rw 0 0\n/dev/loop1 /run/lab/disk-pool ext4 rw 0 0\n/dev/loop2 /run/lab/disk-log ext4 rw 0 0\n"
	const file = "/run/lab/disk-%/.linerate-lab-fill"
	for _, tc := range []struct {
		words, stat string
		want        string // what is allocated, or "!" and a part of the error
	}{
		{"host:server1 fill=80%", "4096 1000 900 850", "2703360 pool"}, // 80% of 950 blocks, less 100
		{"host:server1 fill.log=50%", "4096 1000 1000 1000", "2048000 log"},
		{"host:server1 fill=5%", "4096 1000 900 850", "!10% full already"},
		{"host:server1 fill.other=50%", "4096 1000 900 850", "!no disk other"},
		{"host:server1 fill=80%", "4096 x", "!stat says"},
		{"host:server1 fill=80%", "4096 100 900 850", "!stat says"},
		{"host:client1 fill=80%", "4096 1000 900 850", "!no disk"},
	} {
		lab := newFake(twoPorts(topology.Namespace))
		lab.state["server1 /proc/mounts"] = mounts
		for _, disk := range []string{"pool", "log"} {
			lab.answers["stat -f -c %S %b %f %a /run/lab/disk-"+disk] = tc.stat + "\n"
		}
		before := lab.print()
		i, err := Parse(strings.Fields(tc.words), lab.topo)
		if err != nil {
			t.Fatal(tc.words, err)
		}
		undo, err := i.Inject(context.Background(), lab)
		if part, bad := strings.CutPrefix(tc.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), part) || lab.print() != before {
				t.Errorf("%s of %s: %v, want an error with %q; %s", tc.words, tc.stat, err, part, lab.print())
			}
			continue
		}
		bytes, disk, _ := strings.Cut(tc.want, " ")
		at := "server1 " + strings.Replace(file, "%", disk, 1)
		if err != nil || lab.state[at] != bytes {
			t.Fatalf("%s: %v, %v", tc.words, err, lab.state)
		}
		if _, err := i.Inject(context.Background(), lab); err == nil || !strings.Contains(err.Error(), "filled already") || lab.state[at] != bytes {
			t.Errorf("%s twice: %v, %v", tc.words, err, lab.state)
		}
		if err := undo(context.Background()); err != nil || lab.print() != before {
			t.Errorf("%s: undo: %v, %v", tc.words, err, lab.state)
		}
	}
}
