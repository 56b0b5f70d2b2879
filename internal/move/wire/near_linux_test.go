package wire

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/move"
)

// seenAt is a source or a sink that notes where the threads that use it may run.
type seenAt struct {
	mu sync.Mutex
	at [][]int
}

func (s *seenAt) look() {
	cpus, err := kernel.Affinity()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.at = append(s.at, cpus)
	}
}

type lookingTree struct {
	*memoryTree
	seenAt
}

func (l *lookingTree) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := l.memoryTree.Open(ctx, e)
	return &lookingFile{f, l}, err
}

type lookingFile struct {
	move.SourceFile
	l *lookingTree
}

func (f *lookingFile) Read(ctx context.Context, i int64, buf []byte) (move.Block, error) {
	f.l.look()
	return f.SourceFile.Read(ctx, i, buf)
}

func TestThreadsAtTheFilesRunNearTheirDisk(t *testing.T) {
	all, err := kernel.Affinity()
	if err != nil || len(all) < 2 {
		t.Skipf("needs two CPUs: %v, %v", all, err)
	}
	disk, card := all[:1], all[1:2]
	l, d := parties(t, true)
	m, s := &lookingTree{memoryTree: sampleTree(4)}, newMemorySink()
	var wrote seenAt
	s.spoil = func(string, *move.Block) { wrote.look() }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- Receive(ctx, l, s, move.NewReport(nil), Near{Disk: disk, Net: card}, &Stats{}) }()
	if err := Send(ctx, d, m, move.NewReport(nil), Options{Streams: 2, Near: Near{Disk: disk, Net: card}}, &Stats{}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	same(t, m.memoryTree, s)
	for what, at := range map[string][][]int{"read": m.at, "wrote": wrote.at} {
		if len(at) == 0 || slices.ContainsFunc(at, func(cpus []int) bool { return !slices.Equal(cpus, disk) }) {
			t.Errorf("who %s may run at %v, want %v", what, at, disk)
		}
	}
	// What they were bound to ends with them.
	var after sync.WaitGroup
	for range 16 {
		after.Go(func() {
			if cpus, err := kernel.Affinity(); err != nil || !slices.Equal(cpus, all) {
				t.Errorf("another thread may run at %v, %v", cpus, err)
			}
		})
	}
	after.Wait()
}

func TestWhoSendsRunsNearTheCard(t *testing.T) {
	all, err := kernel.Affinity()
	if err != nil || len(all) < 2 {
		t.Skipf("needs two CPUs: %v, %v", all, err)
	}
	for _, want := range [][]int{nil, all[1:2]} {
		got := make(chan []int, 1)
		go func() {
			_ = bound(want, func() error {
				cpus, err := kernel.Affinity()
				got <- cpus
				return err
			})()
		}()
		if cpus := <-got; len(want) > 0 && !slices.Equal(cpus, want) || len(want) == 0 && !slices.Equal(cpus, all) {
			t.Errorf("bound to %v: it may run at %v", want, cpus)
		}
	}
}
