package place

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/beneath"
	"linerate/internal/move/spool"
)

// Place is a move.Sink.
type Place struct {
	o      Options
	report *move.Report
	root   int    // -1: absent, in a plan
	dev    uint64 // of the root
	probed bool
	near   bool   // the server of the root answered within nearAnswer
	fsType int64  // of the root, as statfs has it; 0: not asked
	uid    uint32 // of what this process makes
	gid    uint32

	journal  *memory // nil: in a plan
	unlocked bool
	finished bool
	bare     atomic.Bool // the root was seen to have no attributes of ours
	last     *move.Entry // the root, where its metadata wait for the journal's end

	mu    sync.Mutex // of what follows
	cache map[string]*dir
	dirs  spool.Spool
	done  map[string]bool        // names that further ones may be linked to
	fresh map[string]bool        // directories that were made, or the root that held nothing, and were not used yet
	devs  map[uint64]*fileSystem // those that were written to
	// inWay are directories that hold something where another kind of entry comes: its failure is named,
	// and they stay as they are.
	inWay map[string]bool
	// temps are the temporary names in use: what has one of them is nobody else's.
	temps map[string]bool

	batch   batch
	bad     atomic.Int64  // input/output errors
	full    atomic.Bool   // there was no room left, or no quota
	buffers chan struct{} // one for each in use of proveBuffers
}

// dir is an open directory of the target.
type dir struct {
	fd    int
	path  string
	dev   uint64
	folds bool
	refs  int
	fresh bool // this run has made it, or found it empty: what it holds is this run's
	// eachSynced: files, and directories, of its file system are made durable one by one.
	eachSynced bool
	// remote: it lies on a mount of NFS or SMB; nfs: of NFS.
	remote, nfs bool
	// timeSyncs: before it takes a time, its client has the server write the file to its disk, as that of
	// SMB does since 2019 ("cifs: flush before set-info if we have writeable handles").
	timeSyncs bool
	near      bool  // on a mount of SMB, whose server answers at once
	makers    crowd // on a mount of SMB
	// hands tells whether it hands attributes down to files that are made in it.
	hands atomic.Int32
	// needsMore: a file of ours that was made in it was not as it was made with.
	needsMore atomic.Bool

	mu    sync.Mutex
	names map[string]bool // what it holds, where it folds case; nil: not read yet
}

// handsNothing is a directory in which a file was made that had no attributes of ours.
const handsNothing = 1

// freshDirs bounds the directories that are remembered as made by this run until they are used.
const freshDirs = 4096

// cachedDirs bounds the directories that are held open.
const cachedDirs = 256

// Open opens the directory root, which is the user's own path: links in it are followed.
func Open(root string, o Options, r *move.Report) (*Place, error) {
	return openOn(0, root, o, r)
}

// openOn opens one on a type of file system; 0: that which it has.
func openOn(fsType int64, root string, o Options, r *move.Report) (*Place, error) {
	p := &Place{fsType: fsType, o: o, report: r, root: -1, cache: map[string]*dir{}, done: map[string]bool{}, devs: map[uint64]*fileSystem{}, fresh: map[string]bool{}, temps: map[string]bool{}, inWay: map[string]bool{},
		buffers: make(chan struct{}, proveBuffers), uid: uint32(unix.Geteuid()), gid: uint32(unix.Getegid())}
	if o.Run == "" {
		p.o.Run = strings.ToLower(rand.Text()[:8])
	}
	if len(o.Run) > 16 || strings.Trim(o.Run, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return nil, fmt.Errorf("%q names no run", o.Run)
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) && o.Plan {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open target %s: %w", root, err)
	}
	p.root = fd
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, errors.Join(fmt.Errorf("look at target %s: %w", root, err), p.Close())
	}
	p.dev = st.Dev
	if !o.Plan {
		if err := p.remember(root); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// Close closes the directories. What waits for its name since Finish was not reached gets it if
// the target is full: it has the room by now, and the next run needs no more for it. Else it is
// removed.
func (p *Place) Close() error {
	if p.journal != nil {
		_ = p.journal.beside.Wait() // what is asked beside may want p.mu; forgetAll tells of its error
	}
	var errs []error
	if p.full.Load() && !p.finished {
		errs = append(errs, p.flush(context.Background()))
	}
	errs = append(errs, p.batch.drop())
	p.mu.Lock()
	defer p.mu.Unlock()
	errs = append(errs, p.forgetAll(), p.dirs.Close())
	p.journal = nil
	for path, d := range p.cache {
		errs = append(errs, unix.Close(d.fd))
		delete(p.cache, path)
	}
	if p.root >= 0 {
		errs = append(errs, unix.Close(p.root))
		p.root = -1
	}
	return errors.Join(errs...)
}

// dir opens a directory of the target, or finds it open; it is to be released.
func (p *Place) dir(path string) (*dir, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.cache[path]; d != nil {
		d.refs++
		return d, nil
	}
	if p.root < 0 {
		return nil, unix.ENOENT
	}
	p.mu.Unlock() // a server is asked: others go on
	fd, dev, err := p.openDir(path)
	folds := err == nil && (p.probed || foldsCase(fd))
	p.mu.Lock()
	if err != nil {
		return nil, err
	}
	if d := p.cache[path]; d != nil { // somebody else was first
		d.refs++
		return d, unix.Close(fd)
	}
	d := &dir{fd: fd, path: path, dev: dev, refs: 1, folds: folds, fresh: p.fresh[path]}
	delete(p.fresh, path)
	p.evict()
	p.cache[path] = d
	if !p.o.Plan {
		p.onDevice(d)
	}
	return d, nil
}

// openDir opens a directory and tells its device. Of the root both are known: a mount would ask again.
func (p *Place) openDir(path string) (fd int, dev uint64, err error) {
	if path == "" {
		fd, err = unix.FcntlInt(uintptr(p.root), unix.F_DUPFD_CLOEXEC, 0)
		return fd, p.dev, err
	}
	if fd, err = beneath.Open(p.root, path, unix.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
		return -1, 0, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, 0, errors.Join(err, unix.Close(fd))
	}
	return fd, st.Dev, nil
}

func (p *Place) release(d *dir) {
	p.mu.Lock()
	defer p.mu.Unlock()
	d.refs--
}

// evict closes directories that nobody uses while there are too many.
func (p *Place) evict() {
	for path, d := range p.cache {
		if len(p.cache) < cachedDirs {
			return
		}
		if d.refs == 0 {
			_ = unix.Close(d.fd) // what it holds is made durable by syncfs
			delete(p.cache, path)
		}
	}
}

// forget drops a directory that is to be removed or replaced.
func (p *Place) forget(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d := p.cache[path]; d != nil && d.refs == 0 {
		_ = unix.Close(d.fd) // is going away
		delete(p.cache, path)
	}
}

// parent opens the directory of a path.
func (p *Place) parent(path string) (*dir, string, error) {
	above, name := beneath.Split(path)
	d, err := p.dir(above)
	return d, name, err
}

// foldsCase asks for the flag that ext4, f2fs and tmpfs have per directory.
func foldsCase(fd int) bool {
	const fsIocGetflags, casefold = 0x80086601, 0x40000000 // include/uapi/linux/fs.h, as 64-bit systems have it
	flags, err := unix.IoctlGetUint32(fd, fsIocGetflags)
	return err == nil && flags&casefold != 0
}

// exact tells whether a directory that folds case holds just that name.
func (d *dir) exact(name string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names == nil {
		names := map[string]bool{}
		err := list(d.fd, func(n string) error {
			names[n] = true
			return nil
		})
		if err != nil {
			return false, err
		}
		d.names = names
	}
	return d.names[name], nil
}

// named notes a name that was given.
func (d *dir) named(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names != nil {
		d.names[name] = true
	}
}

// list calls yield for every name of a directory; yield may remove it.
func list(fd int, yield func(string) error) error {
	at, err := unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(at, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if err := yield(name); err != nil {
				return err
			}
		}
	}
}

// claim takes a temporary name for an entry, and frees it of what a run of this name that
// was killed has left there.
func (p *Place) claim(d *dir, temp string) error {
	at := joined(d.path, temp)
	p.mu.Lock()
	used := p.temps[at]
	p.temps[at] = true
	p.mu.Unlock()
	if used {
		return errors.New("another entry of its name is being written")
	}
	if !p.journal.resumed {
		return nil
	}
	if err := unix.Unlinkat(d.fd, temp, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		p.unclaim(d, temp)
		return fmt.Errorf("remove what was left: %w", err)
	}
	return nil
}

func (p *Place) unclaim(d *dir, temp string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.temps, joined(d.path, temp))
}

// give gives what was written its name. On a target that folds case it replaces no entry
// of another name.
func (p *Place) give(d *dir, temp, name string) error {
	p.at("rename")
	if d.folds {
		err := unix.Renameat2(d.fd, temp, d.fd, name, unix.RENAME_NOREPLACE)
		if err == nil {
			d.named(name)
			return nil
		}
		if errors.Is(err, unix.EINVAL) {
			var st unix.Stat_t
			if err = unix.EEXIST; errors.Is(unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT) {
				err = nil
			}
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		if exact, lerr := d.exact(name); err != nil && (lerr != nil || !exact) {
			return errors.Join(&CollisionError{name}, lerr)
		}
	}
	err := unix.Renameat(d.fd, temp, d.fd, name)
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		if rerr := unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR); rerr != nil {
			return fmt.Errorf("a directory that is not empty has its name: remove it, or copy elsewhere")
		}
		p.forget(joined(d.path, name))
		err = unix.Renameat(d.fd, temp, d.fd, name)
	}
	if err == nil {
		d.named(name)
	}
	return err
}

func joined(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// Device is the number of the block device that the target lies on, "8:16", where it lies on
// one.
func (p *Place) Device() string {
	if p.root < 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", unix.Major(p.dev), unix.Minor(p.dev))
}

// Unlocked tells that the target's file system has no locks: that no second copy writes to
// it is not known.
func (p *Place) Unlocked() bool { return p.unlocked }

// at tells a test where we are.
func (p *Place) at(point string) {
	if p.o.At != nil {
		p.o.At(point)
	}
}
