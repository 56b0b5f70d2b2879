package place

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/move"
	"linerate/internal/move/journal"
)

// fileSystem is one that is written to. The kernel tells of data that it could not write back once
// to each open file, and only to those that were open by then: it is asked at the directory that
// was opened first, which stays open. After an error nothing on it is taken for durable any more:
// whose data were lost is not told, and the next answer is silent about them.
type fileSystem struct {
	first *dir
	// alone: each file of it is durable once it was synced by itself, and so are its names, as far as
	// its server keeps its word.
	alone bool

	mu   sync.Mutex
	lost error
}

// onDevice notes the file system of a directory; p.mu is held.
func (p *Place) onDevice(d *dir) {
	s := p.devs[d.dev]
	if s == nil {
		d.refs++
		s = &fileSystem{first: d}
		fsType := p.fsType
		if d.path != "" {
			fsType = kernel.TypeOf(d.fd)
		}
		d.remote, d.nfs = isRemote(fsType), fsType == unix.NFS_SUPER_MAGIC
		d.timeSyncs = d.smb() && tells(fsType)
		// An NFS client syncs a file as it closes it, and changes names by requests that the server
		// answers once they are durable: a syncfs on top asks for nothing new. On SMB it asks the
		// server for nothing at all.
		s.alone = d.remote
		d.eachSynced = s.alone || !tells(fsType)
		p.devs[d.dev] = s
	}
	d.eachSynced, d.remote, d.nfs, d.timeSyncs = s.first.eachSynced, s.first.remote, s.first.nfs, s.first.timeSyncs
	d.near = d.smb() && d.dev == p.dev && p.near
	d.needsMore.Store(d.smb()) // SMB makes files with modes of its own
}

// Served tells whether the target is on a server, for whose answers most of the time is waited.
func (p *Place) Served() bool { return isRemote(p.fsType) }

// Carried tells whether data on a device of this host have to be carried to the server of the target.
func (p *Place) Carried(device uint64) bool { return p.Served() && device != p.dev }

// smb tells whether a directory is on a mount of SMB.
func (d *dir) smb() bool { return d.remote && !d.nfs }

// onSMB tells whether the target is a mount of SMB.
func (p *Place) onSMB() bool { return isRemote(p.fsType) && p.fsType != unix.NFS_SUPER_MAGIC }

// isRemote tells whether a type of file system is a server's.
func isRemote(fsType int64) bool {
	return fsType == unix.NFS_SUPER_MAGIC || fsType == unix.SMB2_SUPER_MAGIC || fsType == unix.CIFS_SUPER_MAGIC
}

// fuse and v9fs are types of file systems (include/uapi/linux/magic.h).
const fuse, v9fs = 0x65735546, 0x01021997

// tellsLosses tells whether syncfs makes all of a file system durable and says what it could not
// write, by the kernel's release: it does from Linux 5.8 on (commit 735e4ae5ba28). Of the server
// of a FUSE or a 9p mount it asks nothing.
func tellsLosses(release string, fsType int64) bool {
	major, minor := 0, 0
	if n, err := fmt.Sscanf(release, "%d.%d", &major, &minor); n != 2 || err != nil {
		return false
	}
	return (major > 5 || major == 5 && minor >= 8) && fsType != fuse && fsType != v9fs
}

// Cached tells whether the file is written to memory that a client of NFS or SMB sends on, and src
// is read from a disk of this host.
func (f *file) Cached(src int) bool { return f.d.remote && kernel.OnDisk(src) }

// tells tells so of a type of file system on this kernel; one that is not known does not.
func tells(fsType int64) bool {
	var name unix.Utsname
	return fsType != 0 && unix.Uname(&name) == nil && tellsLosses(unix.ByteSliceToString(name.Release[:]), fsType)
}

// syncFS makes durable what was written to a file system.
func (p *Place) syncFS(dev uint64) error {
	p.mu.Lock()
	s := p.devs[dev]
	p.mu.Unlock()
	return s.sync()
}

func (s *fileSystem) sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost == nil && !s.alone {
		if err := unix.Syncfs(s.first.fd); err != nil {
			// Of whatever kind it is: nothing more is taken for durable here.
			s.lost = fmt.Errorf("make durable: %w: %w", move.ErrSink, err)
		}
	}
	return s.lost
}

// sync makes durable what was written to every file system of the target.
func (p *Place) sync() error {
	p.mu.Lock()
	devs := make([]*fileSystem, 0, len(p.devs))
	for _, s := range p.devs {
		devs = append(devs, s)
	}
	p.mu.Unlock()
	for _, s := range devs {
		if err := errors.Join(s.sync(), p.syncDir(s.first)); err != nil {
			return err
		}
	}
	return nil
}

// syncDir makes the names in a directory durable, where syncfs does not.
func (p *Place) syncDir(d *dir) error {
	if !d.eachSynced {
		return nil
	}
	err := unix.Fsync(d.fd)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP) {
		return nil // a server that knows no such request
	}
	if err != nil {
		return fmt.Errorf("make names durable: %w", p.sinkError(err))
	}
	return nil
}

// sync makes a file's data durable by fsync or fdatasync.
func (f *file) sync(how func(int) error) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	err := f.syncHeld(how)
	if err == nil {
		f.letGo(0, 0)
	}
	return err
}

// syncHeld does so; f.syncing is held. An error is kept: the kernel tells of it once, drops what it
// could not write, and calls the rest durable.
func (f *file) syncHeld(how func(int) error) error {
	if err := f.isLost(); err != nil {
		return err
	}
	err := how(f.fd)
	if err != nil {
		err = fmt.Errorf("make durable: %w", f.p.sinkError(err))
		f.lost.Store(&err)
	}
	return err
}

// span is the range of a file that has all of some blocks.
func span(list []journal.Block) (from, n int64) {
	first, last := list[0].Leaf.Index, list[0].Leaf.Index
	for _, x := range list {
		first, last = min(first, x.Leaf.Index), max(last, x.Leaf.Index)
	}
	return first * move.BlockSize, (last - first + 1) * move.BlockSize
}

// letGo has the cache keep nothing of a range of a large file on a mount: it is for others. n is 0: to its end.
func (f *file) letGo(from, n int64) {
	if f.d.remote && f.p.o.Direct && f.e.Size >= aloneFrom {
		_ = unix.Fadvise(f.fd, from, n, unix.FADV_DONTNEED) // advice
	}
}

// isLost is why data of the file may be lost.
func (f *file) isLost() error {
	if err := f.lost.Load(); err != nil {
		return *err
	}
	return nil
}

// badPlaces is after how many input/output errors, of one file or of several, the copy goes on: a disk
// with some bad places keeps what is elsewhere. One more ends the copy.
const badPlaces = 8

// sinkError marks errors after which nothing more can be written.
func (p *Place) sinkError(err error) error {
	if errors.Is(err, unix.EIO) && p.bad.Add(1) <= badPlaces {
		return err
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		p.full.Store(true)
	}
	for _, end := range []error{unix.ENOSPC, unix.EDQUOT, unix.EROFS, unix.EIO, unix.ESTALE, unix.ENODEV} {
		if errors.Is(err, end) {
			return fmt.Errorf("%w: %w", move.ErrSink, err)
		}
	}
	return err
}
