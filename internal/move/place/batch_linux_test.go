package place

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Files get their names in batches while others are written, and a copy that ends without Finish leaves
// none of them half: what was durable has its name, what waited is gone.
func TestABatchGetsItsNamesBesideTheWritingOfOthers(t *testing.T) {
	p, r, dir := openPlace(t)
	const more = 3
	for i := range leastFiles + more {
		e, b := small(fmt.Sprint("f", i), "content")
		if err := p.Put(t.Context(), e, b); err != nil {
			t.Fatal(err)
		}
	}
	p.batch.mu.Lock()
	busy := p.batch.busy
	p.batch.mu.Unlock()
	if busy != nil {
		<-busy
	}
	if n := r.Summary().Files; n != leastFiles {
		t.Errorf("%d files had their names before the end, want %d", n, leastFiles)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != leastFiles {
		t.Errorf("%d entries, %v, want %d", len(names), err, leastFiles)
	}
	for _, n := range names {
		if strings.HasPrefix(n.Name(), ".") {
			t.Errorf("%s was left", n.Name())
		}
	}
}
