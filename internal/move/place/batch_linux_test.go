package place

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
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

// What was written completely before a target was full is not given up with what had no room.
func TestWhatIsWholeGetsItsNameWhenTheTargetIsFull(t *testing.T) {
	for full, want := range map[bool]int{false: 0, true: 1} {
		p, r, dir := openPlace(t)
		e, b := small("f", "content")
		if err := p.Put(t.Context(), e, b); err != nil {
			t.Fatal(err)
		}
		if end := map[bool]error{false: unix.EROFS, true: unix.ENOSPC}[full]; !errors.Is(p.sinkError(end), move.ErrSink) {
			t.Errorf("%v does not end a copy", end)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		names, err := os.ReadDir(dir)
		if err != nil || len(names) != want || r.Summary().Files != int64(want) {
			t.Errorf("full %v: %d entries, %v, %+v", full, len(names), err, r.Summary())
		}
	}
}
