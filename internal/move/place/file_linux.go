package place

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/move"
)

// written is what is known of a block that was written.
type written struct {
	index   int64
	hash    move.Hash
	extents []move.Extent // none: all of its range is data, or the journal has them
	durable bool          // the journal has it, or is about to
	proven  bool          // it was read again
}

// file is a file that is being written under its temporary name.
type file struct {
	p          *Place
	e          *move.Entry
	d          *dir
	temp, name string
	fd         int
	direct     int  // the same past the cache, -1: not had
	made       bool // just now, with its own mode
	flushed    bool // the server has made it durable
	stale      bool // the journal tells of blocks of an earlier run that it does not have
	past       atomic.Bool
	unpushed   atomic.Int64 // bytes on a mount that the kernel was not asked to send yet
	grows      bool         // its writes make its size
	memory     mapping      // of a large one on a mount
	end        atomic.Int64 // of what was written
	bytes      atomic.Int64 // that this run has written

	mu        sync.Mutex
	blocks    map[int64]written // nil: none
	syncing   sync.Mutex        // held while fd is used by who does not write to it
	following sync.RWMutex      // held to read from before the kernel may tell of lost data until lost has it
	// lost is why data that were written may be lost; nil: they are not.
	lost atomic.Pointer[error]
	// proving is held while blocks are read again; refuted is the first that was not as written.
	proving sync.Mutex
	refuted error
	shut    atomic.Bool // its descriptors are closed, or about to be
}

// Put implements move.Sink.
func (p *Place) Put(ctx context.Context, e *move.Entry, b move.Block) error {
	if len(b.Extents) > 0 {
		if err := b.Check(p.o.Verify, e.Size); err != nil {
			return err
		}
	}
	sf, have, err := p.Begin(ctx, e)
	if err != nil || have.Same {
		return err
	}
	f := sf.(*file)
	if len(b.Extents) > 0 {
		put := f.write // nobody asks which blocks it has, but who reads them again
		if p.o.Verify == move.Full {
			put = f.put
		}
		if err := put(b); err != nil {
			return errors.Join(err, f.Abort(false))
		}
	}
	return f.commit(ctx)
}

// Begin implements move.Sink.
func (p *Place) Begin(ctx context.Context, e *move.Entry) (move.SinkFile, move.Have, error) {
	if err := errors.Join(ctx.Err(), e.Check()); err != nil {
		return nil, move.Have{}, err
	}
	if e.Kind != move.File {
		return nil, move.Have{}, fmt.Errorf("%s is a %v", move.Quote(e.Path), e.Kind)
	}
	d, name, err := p.parent(e.Path)
	if err != nil {
		return nil, move.Have{}, err
	}
	action, _, err := p.decide(d, name, e)
	if err == nil && action == Same {
		err = p.same(d, name, e)
		p.release(d)
		return nil, move.Have{Same: true}, err
	}
	if err != nil {
		p.release(d)
		return nil, move.Have{}, err
	}
	f := &file{p: p, e: e, d: d, name: name, temp: tempName(name, p.o.Run, d.folds), fd: -1, direct: -1}
	p.at("open")
	if err = f.begin(); err != nil {
		p.release(d)
		return nil, move.Have{}, err
	}
	return f, move.Have{Leaves: slices.Collect(leaves(f.ordered()))}, nil
}

// begin makes the temporary file, or goes on with an earlier run's. Large ones are in the
// journal.
func (f *file) begin() error {
	if f.e.Size >= aloneFrom && f.recall() {
		f.openDirect()
	} else if err := f.claim(); err != nil {
		return err
	} else if err := f.create(); err != nil {
		f.p.unclaim(f.d, f.temp)
		return err
	}
	if f.e.Size < aloneFrom {
		f.p.settleHead()
		return nil
	}
	if f.d.remote {
		f.memory = mapped(f.fd, f.e.Size)
	}
	if err := f.journalled(); err != nil {
		return errors.Join(err, f.discard())
	}
	return nil
}

// claim takes the temporary name. What a run that was killed left there a client of SMB may keep open
// for a while, and nobody can remove it: another name is taken then, and sweep removes what is left.
func (f *file) claim() error {
	err := f.p.claim(f.d, f.temp)
	if !errors.As(err, new(unix.Errno)) || !f.d.smb() {
		return err
	}
	f.temp = secondName(f.name, f.p.o.Run)
	if serr := f.p.claim(f.d, f.temp); serr != nil {
		return errors.Join(err, serr)
	}
	return nil
}

// same sets the metadata of a file whose content is there.
func (p *Place) same(d *dir, name string, e *move.Entry) error {
	fd, err := unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	p.mend(fd, e)
	p.kept(e)
	return unix.Close(fd)
}

// create makes the temporary file with its size, and its space where it has no holes.
func (f *file) create() error {
	flags := unix.O_RDWR | unix.O_CREAT | unix.O_NOFOLLOW | unix.O_CLOEXEC
	// An earlier run's temporary names are known to whoever looks; this one's are not. On NFS O_EXCL
	// takes a request more, for which others wait who write in that directory.
	excl := !f.d.nfs || f.p.journal.resumed
	if excl {
		flags |= unix.O_EXCL
	}
	fd, err := f.d.make(f.temp, flags, f.firstMode())
	if err != nil {
		return fmt.Errorf("make file: %w", f.p.sinkError(err))
	}
	f.fd = fd
	if f.e.Size > pushed {
		f.unpushed.Store(pushed - 1) // the first block is sent at once
	}
	if !excl && !isNew(fd) {
		return errors.Join(append(f.closeAll(), errors.New("make file: somebody else has its temporary name"))...)
	}
	if err := f.allocate(); err != nil {
		return errors.Join(fmt.Errorf("make room for %d bytes: %w", f.e.Size, f.p.sinkError(err)), f.discard())
	}
	f.openDirect()
	return nil
}

// make opens a file that is made.
func (d *dir) make(name string, flags int, mode uint32) (int, error) {
	if d.smb() {
		d.makers.join()
		defer d.makers.made()
	}
	return unix.Openat(d.fd, name, flags, mode)
}

// firstMode is the mode that the temporary file is made with: its own where that tells nobody
// more, whoever owner and group are in the meantime.
func (f *file) firstMode() uint32 {
	m := f.e.Mode
	if m > 0o777 || m&0o600 != 0o600 || m>>3&7 != m&7 {
		return 0o600
	}
	f.made = true
	return m
}

// openDirect opens a large file once more, past the cache. On a mount of NFS or SMB it is written
// through it: past it every block would wait to be durable at the server by itself.
func (f *file) openDirect() {
	if !f.p.o.Direct || f.e.Size < directFrom || f.d.remote {
		return
	}
	fd, err := unix.Openat(f.d.fd, f.temp, unix.O_WRONLY|unix.O_DIRECT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == nil { // else a file system without it
		f.direct = fd
		f.past.Store(true)
	}
}

// Write implements move.SinkFile.
func (f *file) Write(ctx context.Context, b move.Block) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.Check(f.p.o.Verify, f.e.Size); err != nil {
		return err
	}
	return f.store(b)
}

// store writes a block that was checked.
func (f *file) store(b move.Block) error {
	n, large := int64(len(b.Data)), f.e.Size >= aloneFrom
	if large {
		if err := cmp.Or(f.isLost(), f.follow(b.Index)); err != nil {
			return err
		}
		if err := f.room(n); err != nil {
			return err
		}
	}
	err := f.put(b)
	if large {
		err = errors.Join(err, f.wrote(n))
	}
	return err
}

// put writes a block and notes it.
func (f *file) put(b move.Block) error {
	if err := f.write(b); err != nil {
		return err
	}
	w := written{index: b.Index, hash: b.Hash}
	if whole := f.extents(b.Index, nil); !slices.Equal(whole, b.Extents) {
		w.extents = slices.Clone(b.Extents)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(w)
	return nil
}

// note keeps what is known of a block; f.mu is held.
func (f *file) note(w written) {
	if f.blocks == nil {
		f.blocks = map[int64]written{}
	}
	f.blocks[w.index] = w
}

// write writes a block.
func (f *file) write(b move.Block) error {
	f.p.at("write")
	rest := b.Data
	for _, x := range b.Extents {
		if err := f.writeAt(rest[:x.Length], x.Offset); err != nil {
			return fmt.Errorf("write at %d: %w", x.Offset, f.p.sinkError(err))
		}
		rest = rest[x.Length:]
		f.reached(x.Offset + x.Length)
	}
	f.bytes.Add(int64(len(b.Data)))
	f.p.report.Count(func(s *move.Summary) { s.Bytes += int64(len(b.Data)) })
	return nil
}

// sector is what O_DIRECT asks of offsets and lengths on the disks of today.
const sector = 4096

// writeAt writes all of p: its whole sectors past the cache where that is had, so that the
// tail alone goes through it.
func (f *file) writeAt(p []byte, at int64) error {
	if whole := len(p) / sector * sector; f.past.Load() && at%sector == 0 && whole > 0 {
		err := pwrite(f.direct, p[:whole], at)
		if err == nil {
			p, at = p[whole:], at+int64(whole)
		} else if !errors.Is(err, unix.EINVAL) {
			return err
		} else {
			f.past.Store(false) // the buffer, or larger sectors
		}
	}
	if len(p) == 0 {
		return nil
	}
	if err := pwrite(f.fd, p, at); err != nil {
		return err
	}
	f.push(at, int64(len(p)))
	return nil
}

// pushed is what of a file on a mount is begun to be sent at once: a client of NFS asks the server
// to make each such part durable.
const pushed = 16 << 20

// push begins early what fsync waits for.
func (f *file) push(at, n int64) {
	if f.e.Size < aloneFrom && !f.d.remote {
		return
	}
	if f.d.remote {
		if sum := f.unpushed.Add(n); sum < pushed || !f.unpushed.CompareAndSwap(sum, 0) {
			return
		}
		at, n = 0, 0 // all of it
	}
	_ = unix.SyncFileRange(f.fd, at, n, unix.SYNC_FILE_RANGE_WRITE)
}

func pwrite(fd int, p []byte, at int64) error {
	for len(p) > 0 {
		n, err := unix.Pwrite(fd, p, at)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return unix.EIO
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}

// ordered are the blocks by index.
func (f *file) ordered() []written {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]written, 0, len(f.blocks))
	for _, w := range f.blocks {
		out = append(out, w)
	}
	sortBlocks(out)
	return out
}

func sortBlocks(list []written) {
	slices.SortFunc(list, func(a, b written) int { return cmp.Compare(a.index, b.index) })
}

func leaves(blocks []written) iter.Seq[move.Leaf] {
	return func(yield func(move.Leaf) bool) {
		for _, w := range blocks {
			if !yield(move.Leaf{Index: w.index, Hash: w.hash}) {
				return
			}
		}
	}
}

// Commit implements move.SinkFile.
func (f *file) Commit(ctx context.Context, root move.Hash) error {
	if move.Root(f.e.Size, leaves(f.ordered())) != root {
		return errors.Join(errors.New("the file's root hash differs from the source's"), f.Abort(false))
	}
	return f.commit(ctx)
}

// commit sets metadata and gives the file its name: now if it is large, else with its batch.
func (f *file) commit(ctx context.Context) error {
	if err := f.fill(); err != nil {
		return errors.Join(err, f.Abort(false))
	}
	made := f.d
	if !f.made {
		made = nil
	}
	var beside sync.WaitGroup
	if f.d.nfs && f.e.Size > move.PackSize {
		beside.Go(func() { allowed(f.d.fd) }) // the name will want to know it
	}
	f.askAgain(&beside)
	f.flushed = f.p.describeIn(f.fd, f.e, made) && f.d.timeSyncs
	beside.Wait()
	if f.e.Size < aloneFrom {
		return f.p.pend(ctx, f)
	}
	err := f.settled()
	if err == nil {
		err = f.prove()
	}
	if err == nil { // a sync beside may have heard what close then does not: none can any more
		err = errors.Join(f.close(), f.isLost())
	}
	if err == nil {
		err = f.p.give(f.d, f.temp, f.name)
	}
	if err == nil {
		f.p.at("dirsync")
		err = unix.Fsync(f.d.fd)
	}
	if err != nil {
		return errors.Join(err, f.Abort(false))
	}
	f.p.journal.committed(f)
	f.p.committed(f.e)
	f.p.unclaim(f.d, f.temp)
	f.p.release(f.d)
	return nil
}

// settled makes a large file durable, unless its server has done so.
func (f *file) settled() error {
	if !f.flushed {
		return f.sync(unix.Fsync)
	}
	f.letGo(0, 0)
	return f.isLost()
}

// close closes the descriptors. A network file system says here what it could not write.
func (f *file) close() error {
	errs := f.closeAll()
	f.proving.Lock() // nobody reads it any more
	defer f.proving.Unlock()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close: %w", f.p.sinkError(err))
	}
	return nil
}

func (f *file) closeAll() (errs []error) {
	f.shut.Store(true)
	f.syncing.Lock()
	defer f.syncing.Unlock()
	errs, f.memory = append(errs, f.memory.close()), nil
	for _, fd := range []*int{&f.fd, &f.direct} {
		if *fd >= 0 {
			errs = append(errs, unix.Close(*fd))
			*fd = -1
		}
	}
	return errs
}

// closesAtOnce has a client of SMB close the file at its server when it is closed here, beside the work on
// others: else it does so before it renames the file, while nobody else can make or rename a file of that
// directory. That of Linux does it at once for a file that was locked (since 5.13), for which it asks no
// server that has leased the file to it.
func (f *file) closesAtOnce() {
	if f.d.smb() {
		_ = kernel.LockWrites(f.fd) // a server without locks is only slower
	}
}

// discard closes and removes the temporary file.
func (f *file) discard() error {
	defer f.p.unclaim(f.d, f.temp)
	f.p.report.Count(func(s *move.Summary) { s.Vain += f.bytes.Swap(0) })
	err := f.close()
	if uerr := unix.Unlinkat(f.d.fd, f.temp, 0); uerr != nil && !errors.Is(uerr, unix.ENOENT) {
		err = errors.Join(err, fmt.Errorf("remove %s: %w", move.Quote(f.temp), uerr))
	}
	return err
}

// Abort implements move.SinkFile. What is kept of a large file is made durable first, and
// is what the journal says of it.
func (f *file) Abort(keep bool) error {
	f.shut.Store(true) // nothing of it is read again
	var err error
	if keep = keep && f.e.Size >= aloneFrom; keep {
		err = errors.Join(f.p.appendLast(), f.close())
		f.p.unclaim(f.d, f.temp)
	} else {
		err = f.discard()
	}
	err = errors.Join(err, f.p.journal.leave(f, keep))
	f.p.release(f.d)
	return err
}
