package copy

import (
	"encoding/json"
	"fmt"
	"testing"

	"linerate/internal/move"
	"linerate/internal/move/mover"
	paths "linerate/internal/move/route"
)

// What a target is told of all sources is one line, however many mounts each of their hosts has; what it then
// is not told is counted.
func TestATargetIsToldOfAllSourcesInOneLine(t *testing.T) {
	var sources []*spreadEnd
	for i := range 8 {
		s := paths.Spot{Name: "/data", Own: "data", Kernel: fmt.Sprint("k", i), Path: "/data", Nodes: []string{"1", "2"}}
		for j := range 2500 {
			s.Below = append(s.Below, paths.Part{FS: "0:77", Root: "/", At: move.Raw(fmt.Sprintf("volumes/project-%08d/data-%d/%d/of-a-node", j, i, i))})
		}
		l := paths.Lie{Spots: paths.Spots{s}}
		if b, err := json.Marshal(l); err != nil || len(b) > mover.MaxLie || len(b) < mover.MaxTask/6 {
			t.Fatalf("one source takes %d bytes, %v", len(b), err)
		}
		sources = append(sources, &spreadEnd{side: side{lie: l, whole: []move.Raw{"data"}}})
	}
	c, err := whatComes(sources)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil || len(b) >= mover.MaxTask/2 {
		t.Errorf("a line of %d bytes, %v", len(b), err)
	}
	if len(c.Lie.Spots) != 8 || len(c.Whole) != 8 || len(c.Lie.Left) > 0 || len(c.Lie.Mounts) < 6 || len(c.Lie.Mounts) == 8 {
		t.Errorf("%d sources, %v left, without mounts of %v", len(c.Lie.Spots), c.Lie.Left, c.Lie.Mounts)
	}
}
