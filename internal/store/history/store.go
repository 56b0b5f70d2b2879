package history

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/kernel"
	"linerate/internal/unit"
	"linerate/internal/watch/past"
)

// Folder is where history lies below the data directory.
const Folder = "history"

const lockName = "lock"

// Store is the history of one set of hosts, open for writing. Its methods may be called at once.
type Store struct {
	root  string
	set   string
	limit unit.Bytes

	mu   sync.Mutex
	lock *os.File
	zstd *zstd.Encoder
	own  string           // number of the parts that this writer makes
	late int              // how many late ones it has made
	part map[string]*part // by level
	// added is up to where each wider level has been added up.
	added map[string]time.Time
	size  unit.Bytes
	// Since even the clock has gone evenly, up to last: a step of it makes nothing old.
	even, last time.Time
}

// part is a file that is being written.
type part struct {
	segment string
	f       *os.File
}

// Open opens the history of a set below the data directory, which it creates. It keeps no more
// than limit. The error wraps kernel.ErrLocked where another process writes the same set.
func Open(data, set string, limit unit.Bytes, now time.Time) (*Store, error) {
	root := filepath.Join(data, Folder, folderOf(set))
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, fmt.Errorf("keep history: %w", err)
	}
	z, err := packer()
	if err != nil {
		return nil, err
	}
	lock, err := kernel.LockFile(filepath.Join(root, lockName))
	if err != nil {
		return nil, fmt.Errorf("keep history in %s: %w", root, err)
	}
	s := &Store{root: root, set: set, limit: limit, lock: lock, zstd: z, own: fmt.Sprintf("%x-%d", now.UnixNano(), os.Getpid()),
		part: map[string]*part{}, added: map[string]time.Time{}}
	if err := s.begin(now); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// folderOf is a folder's name for a set: what is safe of its name, and a hash of all of it.
func folderOf(set string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(set))
	sum := sha256.Sum256([]byte(set))
	return strings.Trim(safe[:min(len(safe), 40)], "-") + "-" + hex.EncodeToString(sum[:4])
}

// begin seals the segments that earlier writers left open, computes the coarser records that
// they had not written, and drops what is too much.
func (s *Store) begin(now time.Time) error {
	for i, l := range levels() {
		if err := os.MkdirAll(filepath.Join(s.root, l.dir), 0o700); err != nil {
			return fmt.Errorf("keep history: %w", err)
		}
		if i > 0 {
			all, err := l.files(s.root)
			if err != nil {
				return err
			}
			for _, f := range all[max(0, len(all)-4):] { // the newest; a segment may have several parts
				if records, err := l.read(s.root, f.from, f.to, &Read{}); err != nil {
					return err
				} else {
					for _, r := range records {
						if !r.Late { // those come for what was added up
							s.added[l.dir] = later(s.added[l.dir], r.End())
						}
					}
				}
			}
		}
	}
	if err := s.addUp(now); err != nil {
		return err
	}
	for _, l := range levels() {
		if err := s.seal(l, l.name(now)); err != nil {
			return err
		}
	}
	return s.prune(now)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Add keeps a record of ten seconds. After an error what follows may still be kept: the
// unfinished file is left as it is, and the next record begins another.
func (s *Store) Add(r past.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := r.At.Sub(s.last); d < 0 || d > stepped {
		s.even = r.At
	}
	s.last = r.At
	if err := s.write(levels()[0], r); err != nil {
		return err
	}
	if r.End().Truncate(pruned).Equal(r.At.Truncate(pruned)) {
		return nil
	}
	if err := s.addUp(r.End()); err != nil {
		return err
	}
	return s.prune(r.End())
}

// pruned is how often wider records are made, and what is too old or too much is dropped.
const pruned = 5 * time.Minute

// A clock counts as even while no two records lie further apart than stepped, and is believed about
// what is too old once it was even for evenly: one that is wrong when a machine starts, or is set to
// another year for a while, would drop all there is.
const (
	stepped = 10 * time.Minute
	evenly  = time.Hour
)

// write appends a record to its segment, and seals the one before.
func (s *Store) write(l level, r past.Record) error {
	name := l.name(r.At)
	p := s.part[l.dir]
	if p != nil && p.segment != name {
		delete(s.part, l.dir)
		if err := p.f.Close(); err != nil {
			return fmt.Errorf("keep history: %w", err)
		}
		if err := s.seal(l, name); err != nil {
			return err
		}
		p = nil
	}
	var b []byte
	if p == nil {
		path := filepath.Join(s.root, l.dir, name+"."+s.own+"-"+fmt.Sprint(r.At.UnixNano())+partEnd)
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("keep history: %w", err)
		}
		p = &part{name, f}
		s.part[l.dir] = p
		if b, err = appendHeader(nil, header{V: withoutLate, Set: s.set}); err != nil {
			return err
		}
	}
	b, err := appendBlock(s.zstd, b, r)
	if err == nil {
		_, err = p.f.Write(b)
		s.size += unit.Bytes(len(b))
	}
	if err != nil { // what is in the file now is not known: its end is skipped by who reads it
		delete(s.part, l.dir)
		return fmt.Errorf("keep history: %w", errors.Join(err, p.f.Close()))
	}
	return nil
}

// addUp writes the wider records of the slots that ended.
func (s *Store) addUp(now time.Time) error {
	all := levels()
	for i, l := range all[1:] {
		end := now.Truncate(l.span)
		there := map[time.Time]bool{}
		if s.added[l.dir].Sub(now) > l.span { // the clock was set back
			var err error
			if there, err = s.again(l, now); err != nil {
				return err
			}
		}
		from := later(s.added[l.dir], now.Add(-all[i].keep).Truncate(l.span))
		if !from.Before(end) {
			continue
		}
		var out Read
		finer, err := all[i].in(s.root, from, end, &out)
		if err != nil {
			return err
		}
		for _, r := range past.Slots(l.span, finer) {
			if there[r.At] {
				continue
			}
			if err := s.write(l, r); err != nil {
				return err
			}
		}
		s.added[l.dir] = end
	}
	return nil
}

// again has a wider level added up from now on, where it was up to a time that a wrong clock showed. It
// returns the slots that are there already.
func (s *Store) again(l level, now time.Time) (there map[time.Time]bool, err error) {
	var out Read
	records, err := l.in(s.root, now.Add(-l.keep), now, &out)
	there = map[time.Time]bool{}
	delete(s.added, l.dir)
	for _, r := range records {
		there[r.At] = true
		if !r.End().After(now) {
			s.added[l.dir] = later(s.added[l.dir], r.End())
		}
	}
	return there, err
}

// Close ends the writing. What is not sealed is when the next writer comes.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.part {
		errs = append(errs, p.f.Close())
	}
	clear(s.part)
	if s.lock != nil {
		errs = append(errs, kernel.UnlockFile(s.lock))
		s.lock = nil
	}
	return errors.Join(errs...)
}

// Between reads the records of [from, to) that are about as wide as asked for.
func (s *Store) Between(from, to time.Time, width time.Duration) (Read, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return between(s.root, from, to, width)
}

// Size is how much the history takes on disk, and the most that it may.
func (s *Store) Size() (is, limit unit.Bytes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, s.limit
}

// Set is the history of a set of hosts as it lies on disk, to be read.
type Set struct {
	Name string // as the user named it
	root string
}

// Sets are all of those below the data directory.
func Sets(data string) ([]Set, error) {
	entries, err := os.ReadDir(filepath.Join(data, Folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var out []Set
	for _, e := range entries {
		if e.IsDir() {
			root := filepath.Join(data, Folder, e.Name())
			out = append(out, Set{nameOf(root, e.Name()), root})
		}
	}
	return out, nil
}

// nameOf is the name in the first segment that has one, else the folder's.
func nameOf(root, folder string) string {
	for _, l := range levels() {
		all, err := l.files(root)
		for _, f := range all {
			if s, bad := open(f.path); err == nil && bad == nil && s.Set != "" {
				return s.Set
			}
		}
	}
	return folder
}

// Between reads the records of [from, to) that are about as wide as asked for.
func (s Set) Between(from, to time.Time, width time.Duration) (Read, error) {
	return between(s.root, from, to, width)
}
