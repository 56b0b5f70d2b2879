package place

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// When the journal is written: each costs two waits for the disk. What it does not know is what
// a kill has sent again, so that writers wait before that is more than journalBytes.
const (
	journalBytes = 256 << 20
	journalParts = 4 // written each time a part of that was: the others are for what comes meanwhile
	journalEvery = time.Second
)

// memory is the journal of a target, held under a lock while it is written to.
type memory struct {
	f       *os.File
	log     *journal.Log
	earlier map[string]*journal.File // of a run that did not end
	resumed bool                     // there was such a run

	mu     sync.Mutex
	next   uint64
	open   map[*file]uint64
	ahead  int64 // bytes that were written, or are being, and are in no append that ended
	flying int64 // of those, what is being written
	since  int64 // what was written since an append was begun
	last   time.Time
	kept   bool        // a temporary file was kept for a later run
	begun  bool        // the directory that holds the journal is durable
	headed atomic.Bool // its first record is being made durable
	asked  bool        // the server was asked what the end would wait for
	ends   []byte      // records of files that have their names: they are written before the next others

	appending bool
	changed   *sync.Cond // an append has ended, or bytes were written
	failed    error      // of one beside the copy: nothing more is written then

	beside errgroup.Group // what is done with the journal beside the copy
}

// remember opens the journal of the target, or begins one. The run that it tells of goes on
// under its own name, so that its temporary files are found.
func (p *Place) remember(root string) error {
	f, err := p.lock(root)
	if err != nil {
		return err
	}
	m := &memory{f: f, earlier: map[string]*journal.File{}, open: map[*file]uint64{}, last: time.Now()}
	m.changed = sync.NewCond(&m.mu)
	p.journal = m
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if st.Size() > 0 {
		b, err := io.ReadAll(io.LimitReader(f, 1<<30))
		if err != nil {
			return fmt.Errorf("read journal: %w", err)
		}
		m.resumed = true
		j, err := journal.Read(b)
		if err == nil {
			p.o.Run, m.earlier = j.Run, j.Files
		} else if !errors.Is(err, journal.ErrForeign) {
			return err
		}
	}
	// What is still of use is written anew when its file is begun: the old records are
	// replaced only then, by a journal that begins with them.
	if err := m.rewrite(p.o.Run, st.Size() > 0); err != nil {
		return err
	}
	return nil
}

// rewrite writes a journal that says what the earlier one did, and nothing of files that
// ended. It takes the old one's place as a whole; old: there is one.
func (m *memory) rewrite(run string, old bool) error {
	var salt [8]byte
	_, _ = rand.Read(salt[:]) // never fails
	var b []byte
	m.log, b = journal.NewLog(run, salt)
	for _, f := range m.earlier {
		m.next++
		b = m.log.AppendFile(b, m.next, f)
		blocks := make([]journal.Block, 0, len(f.Blocks))
		for _, x := range f.Blocks {
			blocks = append(blocks, x)
		}
		b = m.log.AppendBlocks(b, m.next, blocks)
	}
	// The lock is on this file, so that it is not replaced by another. What a crash tears
	// here are records of data that are then sent again.
	if _, err := m.f.WriteAt(b, 0); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if old { // a new one is made durable with its first record of data
		if err := errors.Join(m.f.Truncate(int64(len(b))), m.f.Sync()); err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
	}
	_, err := m.f.Seek(int64(len(b)), io.SeekStart)
	return err
}

// recall opens what an earlier run wrote of a file, if it is of this source and a sample of
// it is as the journal says.
func (f *file) recall() (ok bool) {
	m := f.p.journal
	m.mu.Lock()
	was := m.earlier[f.e.Path]
	delete(m.earlier, f.e.Path)
	m.mu.Unlock()
	if was == nil || len(was.Blocks) == 0 {
		return false
	}
	defer func() { f.stale = !ok }()
	if was.Full != (f.p.o.Verify == move.Full) || !sameSource(was.Source, f.e.Identity()) {
		return false
	}
	if !f.p.reclaim(f.d, f.temp) {
		return false
	}
	fd, err := f.openLeft()
	if err != nil {
		f.p.unclaim(f.d, f.temp)
		return false
	}
	f.fd = fd
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Ino != was.Temp.Ino || !f.fits(st.Size, was) || !f.sample(was) {
		_ = unix.Close(fd) // is written anew
		f.fd = -1
		f.p.unclaim(f.d, f.temp)
		return false
	}
	f.reached(st.Size)
	for _, x := range was.Blocks {
		f.note(written{index: x.Leaf.Index, hash: x.Leaf.Hash, extents: x.Extents, durable: true})
		n := int64(0)
		for _, e := range f.extents(x.Leaf.Index, x.Extents) {
			n += e.Length
		}
		f.p.report.Count(func(s *move.Summary) { s.Resumed += n })
	}
	return true
}

// knows tells whether an earlier run has left a part of a file.
func (m *memory) knows(path string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.earlier[path] != nil
}

// reclaim takes a temporary name together with what an earlier run left there.
func (p *Place) reclaim(d *dir, temp string) bool {
	at := joined(d.path, temp)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.temps[at] {
		return false
	}
	p.temps[at] = true
	return true
}

// sameSource leaves the device out: its number may be another after a mount or a boot.
func sameSource(a, b move.Identity) bool {
	a.Node.Dev, b.Node.Dev = 0, 0
	return a == b
}

// samples is how many blocks that an earlier run wrote are read again: the last ones, which a
// disk may have reported durable too early, and some before them.
const samples = 4

// sample reads some blocks again.
func (f *file) sample(was *journal.File) bool {
	list := make([]written, 0, len(was.Blocks))
	for _, x := range was.Blocks {
		list = append(list, written{index: x.Leaf.Index, hash: x.Leaf.Hash, extents: x.Extents, durable: true})
	}
	sortBlocks(list)
	var some []written
	for i := range samples {
		some = append(some, list[len(list)-1-i*(len(list)-1)/samples])
	}
	return f.readBack(some, never, func(written) {}) == nil
}

// extents are those of a block; none stand for all of its range.
func (f *file) extents(index int64, x []move.Extent) []move.Extent {
	if len(x) > 0 {
		return x
	}
	at := index * move.BlockSize
	return []move.Extent{{Offset: at, Length: min(f.e.Size, at+move.BlockSize) - at}}
}

// journalled begins the record of a file that may be resumed. Where the journal tells of blocks that
// the file does not have any more, that is durable before others are written: the file may have got the
// inode of the one that had them.
func (f *file) journalled() error {
	m := f.p.journal
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	m.open[f] = m.next
	var st unix.Stat_t
	if err := unix.Fstat(f.fd, &st); err != nil {
		return err
	}
	j := &journal.File{Path: f.e.Path, Source: f.e.Identity(), Temp: move.Node{Dev: st.Dev, Ino: st.Ino}, Full: f.p.o.Verify == move.Full}
	b := m.log.AppendFile(nil, m.next, j)
	var had []journal.Block
	for _, w := range f.blocks {
		had = append(had, journal.Block{Leaf: move.Leaf{Index: w.index, Hash: w.hash}, Extents: w.extents})
	}
	if len(had) > 0 {
		b = m.log.AppendBlocks(b, m.next, had)
	}
	if _, err := m.f.Write(m.afterEnds(b)); err != nil {
		return fmt.Errorf("write journal: %w", f.p.sinkError(err))
	}
	if !f.stale {
		return nil
	}
	f.p.at("append")
	if err := unix.Fdatasync(int(m.f.Fd())); err != nil {
		return fmt.Errorf("make journal durable: %w", f.p.sinkError(err))
	}
	return nil
}

// room counts bytes that are about to be written, and waits for the journal while it knows too
// little.
func (f *file) room(n int64) error {
	m, most := f.p.journal, cmp.Or(f.p.o.Journal, journalBytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.ahead > 0 && m.ahead+n > most && m.failed == nil {
		if m.appending || m.ahead == m.flying { // all is being written: there is nothing to tell the journal
			m.changed.Wait()
		} else if err := f.p.append(); err != nil {
			return err
		}
	}
	m.ahead += n
	m.flying += n
	return m.failed
}

// wrote counts bytes that were written, and has the journal appended to when that is due, beside the
// writing of others. A file of which all was written is made durable by its end: the journal's requests
// would only be in its way.
func (f *file) wrote(n int64) error {
	m, most := f.p.journal, cmp.Or(f.p.o.Journal, journalBytes)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.flying -= n
	m.since += n
	m.changed.Broadcast()
	if f.p.Served() && f.e.Size >= aheadFrom && !m.asked {
		m.asked = true
		m.beside.Go(f.p.askAhead)
	}
	if m.failed != nil || m.appending || f.whole() || m.since < most/journalParts && time.Since(m.last) < journalEvery {
		return m.failed
	}
	m.appending = true
	go func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.failed = f.p.append()
	}()
	return nil
}

// rest waits for the end of an append.
func (m *memory) rest() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.appending {
		m.changed.Wait()
	}
}

// appendLast has the journal know all that was written until now.
func (p *Place) appendLast() error {
	m := p.journal
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.appending {
		m.changed.Wait()
	}
	if m.failed != nil {
		return m.failed
	}
	return p.append()
}

// append writes the journal, and counts what that took. m.mu is held, and nobody appends.
func (p *Place) append() error {
	m := p.journal
	landed, begun := m.ahead-m.flying, time.Now()
	m.appending, m.since, m.last = true, 0, begun
	list := maps.Clone(m.open)
	m.mu.Unlock()
	err := p.remembered(list)
	p.report.Count(func(s *move.Summary) { s.JournalNs += int64(time.Since(begun)) })
	m.mu.Lock()
	if m.appending = false; err == nil {
		m.ahead -= landed
	}
	m.changed.Broadcast()
	return err
}

// remembered makes the data of files durable, then tells the journal, then makes that durable.
func (p *Place) remembered(list map[*file]uint64) error {
	m := p.journal
	var b []byte
	for f, no := range list {
		b = append(b, f.durable(no)...)
	}
	if len(b) == 0 {
		return nil
	}
	p.at("append")
	m.mu.Lock()
	b = m.afterEnds(b)
	m.mu.Unlock()
	if _, err := m.f.Write(b); err != nil {
		return fmt.Errorf("write journal: %w", p.sinkError(err))
	}
	if err := unix.Fdatasync(int(m.f.Fd())); err != nil {
		return fmt.Errorf("make journal durable: %w", p.sinkError(err))
	}
	if !m.begun {
		if err := unix.Fsync(p.root); err != nil {
			return fmt.Errorf("make journal durable: %w", p.sinkError(err))
		}
		m.begun = true
	}
	return nil
}

// durable makes the data of one file durable, and gives the record of the blocks that were
// written before it began to: none of a file of which data may be lost.
func (f *file) durable(no uint64) []byte {
	f.syncing.Lock() // the file is not closed meanwhile
	defer f.syncing.Unlock()
	if f.fd < 0 || f.isLost() != nil {
		return nil
	}
	f.mu.Lock()
	var list []journal.Block
	for _, w := range f.blocks {
		if !w.durable {
			list = append(list, journal.Block{Leaf: move.Leaf{Index: w.index, Hash: w.hash}, Extents: w.extents})
		}
	}
	f.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	f.p.at("fdatasync")
	from, n := span(list)
	how := unix.Fdatasync
	if f.d.remote {
		how = func(fd int) error { return f.memory.sync(fd, from, n) }
	} else {
		from, n = 0, 0 // all of it
	}
	if f.syncHeld(how) != nil || f.toldOthers() {
		return nil // its own next step fails; what is known of others stays true
	}
	f.letGo(from, n)
	f.mu.Lock()
	for _, x := range list {
		w := f.blocks[x.Leaf.Index]
		if w.durable = true; f.p.o.Verify != move.Full {
			w.extents = nil // the journal has them
		}
		f.blocks[x.Leaf.Index] = w
	}
	f.mu.Unlock()
	f.proveAhead()
	return f.p.journal.log.AppendBlocks(nil, no, list)
}

// leave ends the record of a file; kept: an earlier append may be of use to a later run.
func (m *memory) leave(f *file, kept bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	no, ok := m.open[f]
	if !ok {
		return nil
	}
	delete(m.open, f)
	if kept {
		m.kept = true
		return nil
	}
	if _, err := m.f.Write(m.afterEnds(m.log.AppendEnd(nil, no))); err != nil {
		return fmt.Errorf("write journal: %w", f.p.sinkError(err))
	}
	return nil
}

// committed ends the record of a file that has its name. That by itself is worth no write, for which a
// server would be waited: a later run finds the file, and no temporary one that it could go on with.
func (m *memory) committed(f *file) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if no, ok := m.open[f]; ok {
		delete(m.open, f)
		m.ends = m.log.AppendEnd(m.ends, no)
	}
}

// afterEnds puts the ends that wait before other records; m.mu is held.
func (m *memory) afterEnds(b []byte) []byte {
	b = append(m.ends, b...)
	m.ends = nil
	return b
}
