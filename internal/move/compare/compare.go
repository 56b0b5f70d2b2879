// Package compare looks for what differs between two trees: it stands where a copy's sink
// does, and reads what that would write. Where the source is on another host, Digests has
// hashes of what it reads travel instead of its data. It changes nothing, and reports all
// that differs as losses.
package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"linerate/internal/move"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
	"linerate/internal/unit"
)

// What differs, beside the kinds of move.Loss.
const (
	Missing = "missing"
	Extra   = "extra"
	Kind    = "kind"
	Content = "content"
	Link    = "link target"
	Twice   = "twice" // at several of the targets that together are to hold each once
)

// Sink compares what comes with what is there.
type Sink struct {
	have   *tree.Tree // the target, as a source
	plan   *place.Place
	whole  []string
	report *move.Report
	bufs   sync.Pool
}

// Open opens the target. It is read past this host's cache, where its file system lets go of
// what it holds. Whole are the directories that are to hold what the source's do.
func Open(root string, whole []string, r *move.Report) (*Sink, error) {
	have, err := tree.Open([]tree.Top{{Dir: root}}, tree.Options{Direct: true, Cold: true}, r)
	if err != nil {
		return nil, err
	}
	plan, err := place.Open(root, place.Options{Plan: true}, r)
	if err != nil {
		return nil, errors.Join(err, have.Close())
	}
	s := &Sink{have: have, plan: plan, whole: whole, report: r}
	s.bufs.New = func() any { b := make([]byte, move.BlockSize); return &b }
	return s, nil
}

// Device is the number of the block device that the target lies on.
func (s *Sink) Device() string { return s.have.Device() }

// Close closes the target.
func (s *Sink) Close() error { return errors.Join(s.have.Close(), s.plan.Close()) }

// Make implements move.Sink.
func (s *Sink) Make(_ context.Context, e *move.Entry) error {
	y, _ := s.look(e)
	if y != nil && e.Linked {
		if first, err := s.have.Lookup(e.First); err == nil && first != nil && first.Node != y.Node {
			s.report.Lose(move.LostLink, e.Path, "another inode than %s has", move.Quote(e.First))
		}
	}
	return nil
}

// Find implements move.Finder.
func (s *Sink) Find(ctx context.Context, entries []*move.Entry) ([]move.Presence, error) {
	return s.plan.Find(ctx, entries)
}

// look compares what statx says; y is what the target holds, and same tells whether it is
// worth reading.
func (s *Sink) look(x *move.Entry) (y *move.Entry, same bool) {
	y, err := s.have.Lookup(x.Path)
	if err != nil {
		s.report.Lose(Missing, x.Path, "not in the target: %v", err)
		return nil, false
	}
	if y == nil {
		s.report.Lose(Missing, x.Path, "not in the target")
		return nil, false
	}
	return y, s.metadata(x, y)
}

func (s *Sink) metadata(x, y *move.Entry) bool {
	if x.Kind != y.Kind {
		s.report.Lose(Kind, x.Path, "%v instead of %v", y.Kind, x.Kind)
		return false
	}
	if x.UID != y.UID || x.GID != y.GID {
		s.report.Lose(move.LostOwner, x.Path, "%d:%d instead of %d:%d", y.UID, y.GID, x.UID, x.GID)
	}
	if x.Kind != move.Symlink && x.Mode != y.Mode {
		s.report.Lose(move.LostMode, x.Path, "%04o instead of %04o", y.Mode, x.Mode)
	}
	if x.Mtime != y.Mtime {
		s.report.Lose(move.LostMtime, x.Path, "%d.%09d instead of %d.%09d", y.Mtime.Sec, y.Mtime.Nsec, x.Mtime.Sec, x.Mtime.Nsec)
	}
	if (x.Kind == move.CharDevice || x.Kind == move.BlockDevice) && (x.Major != y.Major || x.Minor != y.Minor) {
		s.report.Lose(Kind, x.Path, "device %d:%d instead of %d:%d", y.Major, y.Minor, x.Major, x.Minor)
	}
	if x.Kind == move.Symlink && x.Target != y.Target {
		s.report.Lose(Link, x.Path, "%s instead of %s", move.Quote(y.Target), move.Quote(x.Target))
	}
	if x.Kind != move.File {
		s.attributes(x, y)
	}
	if x.Kind == move.File && x.Size != y.Size {
		s.report.Lose(Content, x.Path, "%d bytes instead of %d", y.Size, x.Size)
		return false
	}
	return true
}

// attributes compares extended attributes, ACLs among them.
func (s *Sink) attributes(x, y *move.Entry) {
	have := map[string][]byte{}
	for _, a := range y.Xattrs {
		have[a.Name] = a.Value
	}
	for _, a := range x.Xattrs {
		v, ok := have[a.Name]
		if !ok || !bytes.Equal(v, a.Value) {
			s.report.Lose(move.LostXattr, x.Path, "%s is missing or has another value", move.Quote(a.Name))
		}
		delete(have, a.Name)
	}
	for name := range have {
		s.report.Lose(move.LostXattr, x.Path, "%s is not in the source", move.Quote(name))
	}
}

// Put implements move.Sink.
func (s *Sink) Put(ctx context.Context, e *move.Entry, b move.Block) error {
	f, have, err := s.Begin(ctx, e)
	if err != nil || have.Same {
		return err
	}
	if len(b.Extents) > 0 {
		err = f.Write(ctx, b)
	}
	if err != nil {
		return errors.Join(err, f.Abort(false))
	}
	return f.Commit(ctx, move.Hash{})
}

// Begin implements move.Sink. Same: there is nothing to compare any more.
func (s *Sink) Begin(ctx context.Context, e *move.Entry) (move.SinkFile, move.Have, error) {
	y, same := s.look(e)
	if !same {
		return nil, move.Have{Same: true}, nil
	}
	at, err := s.have.Open(ctx, y)
	if err != nil {
		return nil, move.Have{}, fmt.Errorf("compare: %w", err)
	}
	s.attributes(e, at.Entry())
	return &file{s: s, e: e, at: at, seen: map[int64]bool{}}, move.Have{}, nil
}

// Finish implements move.Sink.
func (s *Sink) Finish(context.Context) error { return nil }

// Tidy implements move.Tidier: what the source does not have differs too.
func (s *Sink) Tidy(ctx context.Context, source move.Keeper) error {
	list, err := s.plan.Extra(ctx, s.whole, math.MaxInt-1, source)
	for _, d := range list {
		s.report.Lose(Extra, d.Path, "%v that the source does not have", d.Kind)
	}
	return err
}

// file is one that is being compared.
type file struct {
	s  *Sink
	e  *move.Entry
	at move.SourceFile

	mu      sync.Mutex
	seen    map[int64]bool // blocks that were compared
	bytes   int64
	differs bool
}

// Write implements move.SinkFile: it compares.
func (f *file) Write(ctx context.Context, b move.Block) error {
	f.mu.Lock()
	known := f.differs
	f.seen[b.Index] = true
	f.mu.Unlock()
	if known {
		return nil
	}
	if b.Index >= move.Blocks(f.e.Size) {
		return fmt.Errorf("block %d of a file of %d blocks", b.Index, move.Blocks(f.e.Size))
	}
	n, same, err := f.s.content(ctx, f.at, b.Index, func(content []byte) bool {
		if b.IsDigest() {
			return move.Digest(content) == b.Hash
		}
		return equal(b, content)
	})
	if err != nil {
		return err
	}
	f.found(b.Index, n, same)
	return nil
}

// found notes how a range compares.
func (f *file) found(index, n int64, same bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes += n
	if !same && !f.differs {
		f.differs = true
		f.s.report.Lose(Content, f.e.Path, "differs between %v and %v", unit.Bytes(index*move.BlockSize), unit.Bytes((index+1)*move.BlockSize))
	}
}

// equal compares a block, whose holes are zeroes, with a range's content.
func equal(b move.Block, content []byte) bool {
	data, at := b.Data, int64(0)
	for _, x := range b.Extents {
		from := x.Offset - b.Index*move.BlockSize
		if from < at || x.Length > int64(len(content))-from || x.Length > int64(len(data)) {
			return false
		}
		if !zero(content[at:from]) || !bytes.Equal(content[from:from+x.Length], data[:x.Length]) {
			return false
		}
		data, at = data[x.Length:], from+x.Length
	}
	return zero(content[at:])
}

func zero(b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), len(zeroes))
		if !bytes.Equal(b[:n], zeroes[:n]) {
			return false
		}
		b = b[n:]
	}
	return true
}

var zeroes = make([]byte, 64<<10)

// content reads a range of a file, its holes as zeroes, and hands it to look; n is how much
// of it was read from the file system.
func (s *Sink) content(ctx context.Context, f move.SourceFile, index int64, look func([]byte) bool) (n int64, ok bool, err error) {
	buf, _ := s.bufs.Get().(*[]byte)
	tmp, _ := s.bufs.Get().(*[]byte)
	defer s.bufs.Put(buf)
	defer s.bufs.Put(tmp)
	content, n, err := whole(ctx, f, index, *buf, *tmp)
	if err != nil {
		return 0, false, err
	}
	return n, look(content), nil
}

// whole puts the content of a range into out, zeroes for its holes.
func whole(ctx context.Context, f move.SourceFile, index int64, out, tmp []byte) ([]byte, int64, error) {
	b, err := f.Read(ctx, index, tmp)
	if err != nil {
		return nil, 0, fmt.Errorf("read %v: %w", unit.Bytes(index*move.BlockSize), err)
	}
	out = out[:min(move.BlockSize, f.Entry().Size-index*move.BlockSize)]
	clear(out)
	rest := b.Data
	for _, x := range b.Extents {
		at := x.Offset - index*move.BlockSize
		copy(out[at:at+x.Length], rest)
		rest = rest[x.Length:]
	}
	return out, int64(len(b.Data)), nil
}

// Commit implements move.SinkFile: where the source has holes, the target has to be zero.
func (f *file) Commit(ctx context.Context, _ move.Hash) (err error) {
	defer func() { err = errors.Join(err, f.at.Close()) }()
	for i := int64(0); ; i++ {
		if i, err = f.at.Next(i); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		f.mu.Lock()
		done := f.seen[i]
		f.mu.Unlock()
		if done {
			continue
		}
		n, same, err := f.s.content(ctx, f.at, i, zero)
		if err != nil {
			return err
		}
		f.found(i, n, same)
	}
	f.s.report.Count(func(m *move.Summary) { m.Files++; m.Bytes += f.bytes })
	if err := f.at.Changed(); err != nil {
		return fmt.Errorf("compare: in the target: %w", err)
	}
	return nil
}

// Abort implements move.SinkFile.
func (f *file) Abort(bool) error { return f.at.Close() }
