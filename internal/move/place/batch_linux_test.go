package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
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
	if err := p.batch.named(); err != nil {
		t.Error(err)
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

// While a batch gets its names, the next one is made durable, and gets its own after those.
func TestABatchIsMadeDurableWhileTheOneBeforeGetsItsNames(t *testing.T) {
	naming, goOn := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	var once sync.Once
	at := func(point string) {
		if point == "rename" {
			once.Do(func() { close(naming); <-goOn })
		}
	}
	r := move.NewReport(nil)
	p, err := Open(t.TempDir(), Options{Run: "test", At: at}, r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		release()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	put := func(name string) {
		for i := range leastFiles {
			e, b := small(fmt.Sprint(name, i), "content")
			if err := p.Put(t.Context(), e, b); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("f")
	<-naming
	put("g")
	p.batch.mu.Lock()
	waiting := len(p.batch.files)
	p.batch.mu.Unlock()
	if n := r.Summary().Files; waiting > 0 || n > 0 {
		t.Errorf("%d files wait and %d have names, while the first of %d gets its own; want none", waiting, n, leastFiles)
	}
	release()
	if err := p.flush(t.Context()); err != nil {
		t.Error(err)
	}
	if n := r.Summary().Files; n != 2*leastFiles {
		t.Errorf("%d files have their names, want %d", n, 2*leastFiles)
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

// A copy that is ended says so itself: its files that wait have not failed.
func TestAnEndedCopyNamesNoFailedFiles(t *testing.T) {
	p, r, dir := openPlace(t)
	e, b := small("f", "content")
	if err := p.Put(t.Context(), e, b); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the flush ends with %v", err)
	}
	if lost, _, _ := r.Losses(); len(lost) > 0 || r.Summary().Files != 0 {
		t.Errorf("lost: %v", lost)
	}
	if _, err := os.Lstat(dir + "/f"); err == nil {
		t.Error("it has its name")
	}
}
