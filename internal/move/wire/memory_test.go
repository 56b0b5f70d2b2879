package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"linerate/internal/move"
)

// memoryTree is a source whose files are in memory.
type memoryTree struct {
	entries []*move.Entry
	data    map[string][]byte
	holes   map[string][]int64 // blocks that hold no data
	mu      sync.Mutex
	changes map[string]int // how often a file still changes while it is read
	reads   map[string]int // blocks that were read
}

func (m *memoryTree) file(path string, size int, r *rand.ChaCha8) {
	b := make([]byte, size)
	_, _ = r.Read(b) // never fails
	m.data[path] = b
	m.add(&move.Entry{Path: path, Kind: move.File, Mode: 0o644, Size: int64(size)})
}

func (m *memoryTree) add(e *move.Entry) {
	e.ID = uint64(len(m.entries) + 1)
	e.Mtime = move.Time{Sec: int64(e.ID)}
	m.entries = append(m.entries, e)
}

func newMemoryTree() *memoryTree {
	return &memoryTree{data: map[string][]byte{}, holes: map[string][]int64{}, changes: map[string]int{}, reads: map[string]int{}}
}

func (m *memoryTree) Scan(_ context.Context, yield func(*move.Entry) error) error {
	for _, e := range m.entries {
		c := *e
		if err := yield(&c); err != nil {
			return err
		}
	}
	return nil
}

func (m *memoryTree) Open(_ context.Context, e *move.Entry) (move.SourceFile, error) {
	if m.data[e.Path] == nil {
		return nil, errors.New("permission denied")
	}
	return &memoryFile{m, e}, nil
}

type memoryFile struct {
	m *memoryTree
	e *move.Entry
}

func (f *memoryFile) Entry() *move.Entry { return f.e }
func (f *memoryFile) Close() error       { return nil }

func (f *memoryFile) Next(i int64) (int64, error) {
	for slices.Contains(f.m.holes[f.e.Path], i) {
		i++
	}
	if i >= move.Blocks(f.e.Size) {
		return 0, io.EOF
	}
	return i, nil
}

func (f *memoryFile) Read(_ context.Context, i int64, buf []byte) (move.Block, error) {
	f.m.mu.Lock()
	f.m.reads[f.e.Path]++
	f.m.mu.Unlock()
	at := i * move.BlockSize
	n := copy(buf, f.m.data[f.e.Path][at:min(f.e.Size, at+move.BlockSize)])
	b := move.Block{Index: i, Extents: []move.Extent{{Offset: at, Length: int64(n)}}, Data: buf[:n]}
	b.Hash = move.Sum(move.Fast, b.Extents, b.Data)
	return b, nil
}

func (f *memoryFile) Changed() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.m.changes[f.e.Path] > 0 {
		f.m.changes[f.e.Path]--
		return move.ErrChanged
	}
	return nil
}

// memorySink takes everything, refuses what a sink refuses, and shows a file only once it
// is committed.
type memorySink struct {
	mu      sync.Mutex
	entries map[string]*move.Entry
	data    map[string][]byte
	have    map[string][]move.Leaf
	kept    map[string]int
	// spoil is called on every block before it is checked.
	spoil    func(path string, b *move.Block)
	refuse   map[string]error
	finished bool
	wrong    []string
}

func newMemorySink() *memorySink {
	return &memorySink{entries: map[string]*move.Entry{}, data: map[string][]byte{}, have: map[string][]move.Leaf{}, kept: map[string]int{}, refuse: map[string]error{}}
}

func (s *memorySink) parent(path string) error {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			if e := s.entries[path[:i]]; e == nil || e.Kind != move.Directory {
				return fmt.Errorf("%s: its directory is not there", path)
			}
			return nil
		}
	}
	return nil
}

func (s *memorySink) Make(_ context.Context, e *move.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmpErr(s.refuse[e.Path], s.parent(e.Path)); err != nil {
		return err
	}
	if e.Linked {
		d, ok := s.data[e.First]
		if !ok {
			return move.ErrNoFirst
		}
		s.data[e.Path] = d
	}
	s.entries[e.Path] = e
	return nil
}

func cmpErr(errs ...error) error { return errors.Join(errs...) }

func (s *memorySink) Put(_ context.Context, e *move.Entry, b move.Block) error {
	if err := b.Check(move.Fast, e.Size); err != nil && len(b.Extents) > 0 {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmpErr(s.refuse[e.Path], s.parent(e.Path)); err != nil {
		return err
	}
	s.entries[e.Path], s.data[e.Path] = e, bytes.Clone(b.Data)
	return nil
}

func (s *memorySink) Begin(_ context.Context, e *move.Entry) (move.SinkFile, move.Have, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmpErr(s.refuse[e.Path], s.parent(e.Path)); err != nil {
		return nil, move.Have{}, err
	}
	f := &memorySinkFile{s: s, e: e, data: make([]byte, e.Size)}
	f.leaves = append(f.leaves, s.have[e.Path]...)
	return f, move.Have{Leaves: slices.Clone(f.leaves)}, nil
}

func (s *memorySink) Finish(context.Context) error {
	s.finished = true
	return nil
}

type memorySinkFile struct {
	s      *memorySink
	e      *move.Entry
	data   []byte
	leaves []move.Leaf
}

func (f *memorySinkFile) Write(_ context.Context, b move.Block) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if f.s.spoil != nil {
		f.s.spoil(f.e.Path, &b)
	}
	if err := b.Check(move.Fast, f.e.Size); err != nil {
		return err
	}
	if err := f.s.refuse[f.e.Path+" write"]; err != nil {
		return err
	}
	rest := b.Data
	for _, x := range b.Extents {
		copy(f.data[x.Offset:x.Offset+x.Length], rest)
		rest = rest[x.Length:]
	}
	f.leaves = append(f.leaves, move.Leaf{Index: b.Index, Hash: b.Hash})
	return nil
}

func (f *memorySinkFile) Commit(_ context.Context, root move.Hash) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if move.Root(f.e.Size, slices.Values(sorted(f.leaves))) != root {
		f.s.wrong = append(f.s.wrong, f.e.Path)
		return errors.New("its root differs")
	}
	f.s.entries[f.e.Path], f.s.data[f.e.Path] = f.e, f.data
	return nil
}

func (f *memorySinkFile) Abort(keep bool) error {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	if keep {
		f.s.kept[f.e.Path]++
	}
	return nil
}

// sampleTree has everything that takes its own way over the wire.
func sampleTree(seed uint64) *memoryTree {
	r := rand.NewChaCha8([32]byte{byte(seed)})
	sizes := rand.New(r)
	m := newMemoryTree()
	m.add(&move.Entry{Kind: move.Directory, Mode: 0o755})
	m.file("empty", 0, r)
	m.data["empty"] = []byte{}
	m.file("large", 3*move.BlockSize+12345, r)
	m.add(&move.Entry{Path: "d", Kind: move.Directory, Mode: 0o700})
	for i := range 300 {
		m.file(fmt.Sprintf("d/small\n%d\xff", i), sizes.IntN(20000), r)
	}
	m.file("d/sparse", 5*move.BlockSize, r)
	m.holes["d/sparse"] = []int64{0, 2, 3}
	for _, i := range m.holes["d/sparse"] {
		clear(m.data["d/sparse"][i*move.BlockSize : (i+1)*move.BlockSize])
	}
	m.add(&move.Entry{Path: "link", Kind: move.Symlink, Target: "nowhere\n"})
	m.add(&move.Entry{Path: "again", Kind: move.File, Size: m.entries[2].Size, Linked: true, First: "large"})
	m.data["again"] = m.data["large"]
	m.file("d/middle", move.PackSize+1, r)
	return m
}

// same tells what the sink has otherwise than the source.
func same(t testing.TB, m *memoryTree, s *memorySink) {
	t.Helper()
	if !s.finished || len(s.wrong) > 0 {
		t.Errorf("finished %v, wrong %q", s.finished, s.wrong)
	}
	for _, e := range m.entries {
		got := s.entries[e.Path]
		if got == nil || got.Kind != e.Kind || got.Mode != e.Mode || got.Mtime != e.Mtime || got.Target != e.Target {
			t.Errorf("entry %q arrived as %+v, want %+v", e.Path, got, e)
		}
		if !bytes.Equal(s.data[e.Path], m.data[e.Path]) {
			t.Errorf("the data of %q differ", e.Path)
		}
	}
	if len(s.entries) != len(m.entries) {
		t.Errorf("%d entries arrived, want %d", len(s.entries), len(m.entries))
	}
}

// keysOf makes both ends' keys of a run.
func keysOf(t testing.TB, plain bool) (a, b *Keys) {
	t.Helper()
	run, secret, err := Draw()
	if err != nil {
		t.Fatal(err)
	}
	ka, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	kb, err := NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	return &Keys{run, secret, ka, kb.Pin(), plain}, &Keys{run, secret, kb, ka.Pin(), plain}
}

// runEnds runs both ends and returns what each came to.
func runEnds(t testing.TB, from, to Party, m move.Source, s move.Sink, o Options) (sent, received *move.Report, send, receive error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sent, received = move.NewReport(nil), move.NewReport(nil)
	done := make(chan error, 1)
	go func() { done <- Receive(ctx, to, s, received, Near{}, &Stats{}) }()
	send = Send(ctx, from, m, sent, o, &Stats{})
	if send != nil {
		// What never came to the other end has no other end.
		time.AfterFunc(5*time.Second, cancel)
	}
	return sent, received, send, <-done
}

func failures(r *move.Report) map[string]string {
	out := map[string]string{}
	_, all, _ := r.Losses()
	for _, l := range all {
		out[l.Path] = l.Detail
	}
	return out
}

func wantFailures(t testing.TB, r *move.Report, paths ...string) {
	t.Helper()
	got := slices.Sorted(maps.Keys(failures(r)))
	if !slices.Equal(got, paths) {
		t.Errorf("reported as lost: %q, want %q", failures(r), paths)
	}
}
