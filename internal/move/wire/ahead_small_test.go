package wire

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"linerate/internal/move"
)

// readingAhead is a source of which every second file can be opened ahead, once the scan has ended.
type readingAhead struct {
	*memoryTree
	scanned      chan struct{}
	ahead        atomic.Int64 // files that were opened ahead
	open, opened atomic.Int64 // of all, at once and in sum
}

func (a *readingAhead) Scan(ctx context.Context, yield func(*move.Entry) error) error {
	defer close(a.scanned)
	return a.memoryTree.Scan(ctx, yield)
}

func (a *readingAhead) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	<-a.scanned
	f, err := a.memoryTree.Open(ctx, e)
	if err != nil {
		return nil, err
	}
	a.open.Add(1)
	a.opened.Add(1)
	return &openedAhead{SourceFile: f, a: a}, nil
}

func (a *readingAhead) OpenAhead(ctx context.Context, e *move.Entry) move.SourceFile {
	if e.ID%2 == 0 {
		return nil
	}
	f, err := a.Open(ctx, e)
	if err != nil {
		return nil
	}
	a.ahead.Add(1)
	return f
}

type openedAhead struct {
	move.SourceFile
	a    *readingAhead
	once sync.Once
}

func (f *openedAhead) Close() error {
	f.once.Do(func() { f.a.open.Add(-1) })
	return f.SourceFile.Close()
}

func TestSmallFilesAreOpenedAheadOfTheirTurn(t *testing.T) {
	m, r := newMemoryTree(), rand.NewChaCha8([32]byte{2})
	const files = 8 * smallReaders
	for i := range files {
		m.file(fmt.Sprint(i), 100+i, r)
	}
	m.changes["3"], m.changes["5"] = 1, 9                                     // each is opened once more, and one that was opened ahead once more than that
	m.add(&move.Entry{Path: "locked", Kind: move.File, Mode: 0o600, Size: 7}) // has no data: it cannot be opened
	for _, refused := range []bool{false, true} {
		l, d := parties(t, true)
		s, a := newMemorySink(), &readingAhead{memoryTree: m, scanned: make(chan struct{})}
		if refused { // the run ends while files are open
			s.refuse["7"] = move.ErrSink
		}
		sent, _, send, _ := runEnds(t, d, l, a, s, Options{})
		if a.open.Load() != 0 {
			t.Errorf("%d files stay open", a.open.Load())
		}
		if a.ahead.Load() == 0 {
			t.Error("no file was opened ahead of its turn")
		}
		if refused {
			if send == nil {
				t.Error("a target that takes nothing more was not heard of")
			}
			continue
		}
		wantFailures(t, sent, "5", "locked")
		if n := a.opened.Load(); n != files+2 && n != files+3 {
			t.Errorf("files were opened %d times, want %d or one more", n, files+2)
		}
		if len(s.entries) != files-1 {
			t.Errorf("%d files arrived, want %d", len(s.entries), files-1)
		}
	}
}

// A file that changed while it was open ahead of its turn has as many tries as another.
func TestAChangeBeforeItsTurnIsNoTry(t *testing.T) {
	m := newMemoryTree()
	m.file("busy", 100, rand.NewChaCha8([32]byte{4}))
	e := m.entries[0]
	m.changes["busy"] = 2
	rep := move.NewReport(nil)
	s := &sender{side: side{rep: rep, stats: &Stats{}}, src: m}
	s.pack.s, s.pack.busy = s, new(sync.WaitGroup)
	s.pack.busy.Add(1)
	open, err := m.Open(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.sendSmall(t.Context(), smallFile{entry: e, open: open}, make([]byte, move.PackSize)); err != nil {
		t.Fatal(err)
	}
	if lost, _, _ := rep.Losses(); len(lost) > 0 || s.pack.n != 1 {
		t.Errorf("lost %v, %d in the pack", lost, s.pack.n)
	}
}
