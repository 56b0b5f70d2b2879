package place

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// However slowly the disk makes things durable, no more is written than a kill may cost: the
// journal itself is read at each write.
func TestNoMoreIsWrittenAheadOfTheJournalThanAKillMayCost(t *testing.T) {
	const blocks, most = aloneFrom / move.BlockSize, 5
	dir := t.TempDir()
	known := func() (n int) {
		b, err := os.ReadFile(filepath.Join(dir, journal.Name))
		if err != nil {
			t.Error(err)
			return blocks
		}
		j, err := journal.Read(b)
		if err == nil && j.Files["f"] != nil { // else the run has just begun
			n = len(j.Files["f"].Blocks)
		}
		return n
	}
	var begun, syncs atomic.Int64
	at := func(point string) {
		switch point {
		case "write":
			if n, had := int(begun.Add(1)), known(); n-had > most {
				t.Errorf("%d blocks were being written while the journal knew %d", n, had)
			}
		case "fdatasync":
			syncs.Add(1)
			for range 10000 { // the others go on as far as they may
				runtime.Gosched()
			}
		}
	}
	p, err := Open(dir, Options{Run: "test", Journal: most * move.BlockSize, At: at}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	e := &move.Entry{Path: "f", Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: aloneFrom, Links: 1}
	f, _, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, move.BlockSize)
	var leaves [blocks]move.Leaf
	var next atomic.Int64
	var g errgroup.Group
	for range 8 {
		g.Go(func() error {
			for i := next.Add(1) - 1; i < blocks; i = next.Add(1) - 1 {
				x := []move.Extent{{Offset: i * move.BlockSize, Length: move.BlockSize}}
				leaves[i] = move.Leaf{Index: i, Hash: move.Sum(move.Fast, x, data)}
				if err := f.Write(context.Background(), move.Block{Index: i, Extents: x, Data: data, Hash: leaves[i].Hash}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if least := int64(blocks/most) - 1; syncs.Load() < least {
		t.Errorf("the journal was written %d times, want at least %d", syncs.Load(), least)
	}
	each := func(yield func(move.Leaf) bool) {
		for _, l := range leaves {
			if !yield(l) {
				return
			}
		}
	}
	if err := f.Commit(t.Context(), move.Root(e.Size, each)); err != nil {
		t.Fatal(err)
	}
	if err := p.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// What the journal could not be told beside the copy ends the writing of what it is to know.
func TestAJournalThatCannotBeWrittenEndsTheFile(t *testing.T) {
	p, err := Open(t.TempDir(), Options{Run: "test", Journal: 4 * move.BlockSize}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	e := &move.Entry{Path: "f", Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: aloneFrom, Links: 1}
	f, _, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.journal.f.Close(); err != nil {
		t.Fatal(err)
	}
	var failed error
	for i := range int64(aloneFrom / move.BlockSize) {
		b := move.Block{Index: i, Extents: []move.Extent{{Offset: i * move.BlockSize, Length: move.BlockSize}}, Data: make([]byte, move.BlockSize)}
		b.Seal(move.Fast)
		if failed = f.Write(t.Context(), b); failed != nil {
			break
		}
	}
	if failed == nil {
		t.Error("all was written")
	}
	_ = errors.Join(f.Abort(true), p.Close()) // the journal is closed already
}

// A file may get its name while an append that tells of it makes others durable: a kill after that has
// nothing of those sent again.
func TestTheEndOfAFileLeavesWhatTheJournalTellsOfOthers(t *testing.T) {
	var ended string
	var files []*file
	var p *Place
	syncs := 0
	at := func(point string) {
		if point != "fdatasync" {
			return
		}
		if syncs++; syncs != 2 {
			return
		}
		for _, f := range files { // the one that was synced first
			if f.blocks[0].durable {
				ended = f.e.Path
				if err := f.Commit(t.Context(), move.Root(f.e.Size, leaves(f.ordered()))); err != nil {
					t.Error(err)
				}
			}
		}
	}
	dir := t.TempDir()
	p, err := Open(dir, Options{Run: "test", At: at}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		f, _, err := p.Begin(t.Context(), large(name))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f.(*file))
		if err := files[len(files)-1].put(zeros(0, move.Fast)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.appendLast(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, journal.Name))
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Read(b)
	if err != nil || ended == "" || len(j.Files) != 1 || j.Files[ended] != nil {
		t.Fatalf("%q ended, the journal has %+v, %v", ended, j, err)
	}
	for name, f := range j.Files {
		if len(f.Blocks) != 1 || j.Good != int64(len(b)) {
			t.Errorf("%d blocks of %s, %d of %d bytes of the journal", len(f.Blocks), name, j.Good, len(b))
		}
	}
	for _, f := range files {
		if f.e.Path != ended {
			err = f.Abort(false)
		}
	}
	if err := errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
}

// A file that is begun anew may get the inode of the temporary file before it: that the journal
// tells of none of its blocks is durable before one is written.
func TestWhatAFileDoesNotHaveAnyMoreIsTakenBackBeforeItIsWritten(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	f, _, err := first.Begin(t.Context(), large("f"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Write(t.Context(), zeros(0, move.Fast)), f.Abort(true), first.Close()); err != nil {
		t.Fatal(err)
	}
	synced := false
	second, err := Open(dir, Options{Verify: move.Full, At: func(point string) { synced = synced || point == "append" }}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	again, have, err := second.Begin(t.Context(), large("f"))
	if err != nil || len(have.Leaves) > 0 || !synced {
		t.Errorf("%v, %v, durable: %v", have, err, synced)
	}
	b, err := os.ReadFile(filepath.Join(dir, journal.Name))
	if err != nil {
		t.Fatal(err)
	}
	if j, err := journal.Read(b); err != nil || j.Files["f"] == nil || len(j.Files["f"].Blocks) > 0 {
		t.Errorf("%+v, %v", j, err)
	}
	if err := errors.Join(again.Abort(false), second.Close()); err != nil {
		t.Fatal(err)
	}
}

// The end of a file that has its name is written with what the journal is told next, or as it is kept;
// that of one that failed at once, because its blocks are not to be trusted.
func TestTheEndOfAFileWaitsForTheNextRecord(t *testing.T) {
	dir := t.TempDir()
	p, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	begin := func(name string) *file {
		t.Helper()
		f, _, err := p.Begin(t.Context(), large(name))
		if err == nil {
			err = f.Write(t.Context(), zeros(0, move.Fast))
		}
		if err == nil {
			err = p.appendLast()
		}
		if err != nil {
			t.Fatal(err)
		}
		return f.(*file)
	}
	commit := func(f *file) {
		t.Helper()
		if err := f.Commit(t.Context(), move.Root(f.e.Size, leaves(f.ordered()))); err != nil {
			t.Fatal(err)
		}
	}
	told := func(want ...string) {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, journal.Name))
		if err != nil {
			t.Fatal(err)
		}
		j, err := journal.Read(b)
		if err != nil || j.Good != int64(len(b)) || len(j.Files) != len(want) {
			t.Fatalf("the journal tells of %v, want %q, %v", j.Files, want, err)
		}
		for _, name := range want {
			if j.Files[name] == nil {
				t.Errorf("the journal does not tell of %s", name)
			}
		}
	}
	commit(begin("a"))
	told("a")
	b := begin("b")
	told("b")
	if err := b.Abort(false); err != nil {
		t.Fatal(err)
	}
	told()
	commit(begin("c"))
	if err := begin("d").Abort(true); err != nil {
		t.Fatal(err)
	}
	told("d")
	commit(begin("e"))
	told("d", "e")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	told("d")
}

// large is a file that the journal tells of.
func large(name string) *move.Entry {
	return &move.Entry{Path: name, Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: aloneFrom, Links: 1}
}

// zeros is a block of zeros.
func zeros(i int64, v move.Verify) move.Block {
	b := move.Block{Index: i, Extents: []move.Extent{{Offset: i * move.BlockSize, Length: move.BlockSize}}, Data: make([]byte, move.BlockSize)}
	b.Seal(v)
	return b
}

// Where more is being written at once than a kill may cost, whoever waits for room sleeps: there is nothing
// yet that the journal could be told.
func TestWhoeverWaitsForRoomSleepsWhileAllIsBeingWritten(t *testing.T) {
	rep := move.NewReport(nil)
	p, err := Open(t.TempDir(), Options{Run: "test", Journal: move.BlockSize}, rep)
	if err != nil {
		t.Fatal(err)
	}
	e := &move.Entry{Path: "f", Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: aloneFrom, Links: 1}
	begun, _, err := p.Begin(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	f := begun.(*file)
	if err := f.room(move.BlockSize); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- f.room(move.BlockSize) }()
	for by := time.Now().Add(30 * time.Second); !sleepsIn("place.(*file).room"); runtime.Gosched() {
		if rep.Summary().JournalNs > 0 || time.Now().After(by) {
			t.Error("it does not sleep")
			break
		}
	}
	for range 2 {
		if err := f.wrote(move.BlockSize); err != nil {
			t.Fatal(err)
		}
		if second == nil {
			continue
		}
		if err := <-second; err != nil {
			t.Fatal(err)
		}
		second = nil
	}
	if err := errors.Join(f.Abort(false), p.Close()); err != nil {
		t.Fatal(err)
	}
}

// sleepsIn tells whether a goroutine waits for a sync.Cond in a function.
func sleepsIn(name string) bool {
	stacks := make([]byte, 1<<20)
	for g := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(g, "[sync.Cond.Wait") && strings.Contains(g, name) {
			return true
		}
	}
	return false
}
