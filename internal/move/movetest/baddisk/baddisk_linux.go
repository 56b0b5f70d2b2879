// Package baddisk is a file system that hands everything on to a directory and fails where it is
// told to, as disks do: a block that cannot be read, a write that is refused, data that are lost
// when they are to be made durable. It is for tests and benches, and refuses to mount over what
// holds anything. It takes root, or the program fusermount3.
package baddisk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Op is what a Fault is of.
type Op string

// The operations.
const (
	Open   Op = "open" // of a file that is there
	Read   Op = "read"
	Write  Op = "write"
	Sync   Op = "sync" // fsync, fdatasync
	Create Op = "create"
	// Rename is of the name that it had, SyncDir is fsync of a directory.
	Rename  Op = "rename"
	SyncDir Op = "syncdir"
)

// Fault has operations fail with an error, or something happen at them.
type Fault struct {
	Op   Op
	Name string // part of the file's name at that time; "": of every file
	// From and To bound the bytes that a read or a write has to touch; To 0: any.
	From, To int64
	After    int // so many of these operations are right before
	Times    int // so many fail then; 0: all
	Err      syscall.Errno
	// Meet is called before the operation, which goes on then if Err is 0; nil: nothing happens.
	Meet func()
	// Flip: of a write: the disk keeps it with another bit at From, or at its middle, and says nothing.
	Flip bool
}

// Disk is a mounted one.
type Disk struct {
	server *fuse.Server
	at     string
	dev    uint64 // of what is mounted

	mu     sync.Mutex
	faults []Fault
	failed int
	dirty  map[uint64][]extent // not durable yet, by inode
}

type extent struct{ at, length int64 }

// Mount mounts one at a directory that is empty, over the directory below.
func Mount(at, below string) (*Disk, error) {
	if held, err := os.ReadDir(at); err != nil || len(held) > 0 {
		return nil, errors.Join(err, fmt.Errorf("mount at %s: it is not there, or not empty", at))
	}
	root, err := fs.NewLoopbackRoot(below)
	if err != nil {
		return nil, err
	}
	d := &Disk{dirty: map[uint64][]extent{}}
	o := &fs.Options{MountOptions: fuse.MountOptions{FsName: "baddisk", Name: "baddisk", DirectMount: true, AllowOther: os.Geteuid() == 0, MaxWrite: 1 << 20, DisableSplice: true}}
	if d.server, err = fs.Mount(at, &node{root.(*fs.LoopbackNode), d}, o); err != nil {
		return nil, fmt.Errorf("mount a FUSE file system: %w", err)
	}
	d.at = at
	if d.dev, err = device(at); err != nil {
		return nil, errors.Join(err, d.server.Unmount())
	}
	return d, nil
}

// device is the number of the file system that a path lies on.
func device(path string) (uint64, error) {
	var st syscall.Stat_t
	err := syscall.Stat(path, &st)
	return st.Dev, err
}

// Close unmounts it. The kernel tells its server of the end only when nobody has it mounted any more: whoever
// has made a mount namespace meanwhile may, as a host of a lab does, and is not waited for.
func (d *Disk) Close() error {
	over := make(chan error, 1)
	go func() { over <- d.server.Unmount() }()
	for {
		select {
		case err := <-over:
			return err
		case <-time.After(time.Second):
		}
		if dev, err := device(d.at); err == nil && dev != d.dev {
			return nil
		}
	}
}

// Set has these faults from now on, and no others.
func (d *Disk) Set(faults ...Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults, d.failed = append([]Fault{}, faults...), 0
}

// Failed is how many operations have failed since Set.
func (d *Disk) Failed() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

// meets tells whether the operation is one of the fault's.
func (f *Fault) meets(op Op, name string, from, to int64) bool {
	return f.Op == op && strings.Contains(name, f.Name) && (f.To == 0 || from < f.To && to > f.From)
}

// met is the fault that an operation meets; nil: none. d.mu is held.
func (d *Disk) met(op Op, name string, from, to int64) *Fault {
	for i := range d.faults {
		f := &d.faults[i]
		if !f.meets(op, name, from, to) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		met := *f
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				f.Op = "" // it is over
			}
		}
		d.failed++
		return &met
	}
	return nil
}

// happens does what the fault does, and gives what the operation fails with; 0: it does not.
func (f *Fault) happens() syscall.Errno {
	if f == nil {
		return 0
	}
	if f.Meet != nil {
		f.Meet()
	}
	return f.Err
}

func (d *Disk) fault(op Op, name string, from, to int64) syscall.Errno {
	d.mu.Lock()
	f := d.met(op, name, from, to)
	d.mu.Unlock()
	return f.happens()
}

// flipped is what a disk that spoils it keeps of data at a place.
func (f *Fault) flipped(data []byte, off int64) []byte {
	data = append([]byte(nil), data...)
	at := int64(len(data) / 2)
	if f.From >= off && f.From < off+int64(len(data)) {
		at = f.From - off
	}
	data[at] ^= 0x10
	return data
}

// node is a file or a directory.
type node struct {
	*fs.LoopbackNode
	d *Disk
}

// name is its last one: the latest that it was given.
func (n *node) name() string {
	name, _ := n.Parent()
	return name
}

// WrapChild implements fs.NodeWrapChilder.
func (n *node) WrapChild(_ context.Context, ops fs.InodeEmbedder) fs.InodeEmbedder {
	return &node{ops.(*fs.LoopbackNode), n.d}
}

// Open implements fs.NodeOpener. The buffers of requests are not aligned as O_DIRECT wants them.
func (n *node) Open(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.d.fault(Open, n.name(), 0, 0); errno != 0 {
		return nil, 0, errno
	}
	f, more, errno := n.LoopbackNode.Open(ctx, flags&^syscall.O_DIRECT)
	if errno != 0 {
		return nil, 0, errno
	}
	return &handle{f.(*fs.LoopbackFile), n}, more, 0
}

// Create implements fs.NodeCreater.
func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	if errno := n.d.fault(Create, name, 0, 0); errno != 0 {
		return nil, nil, 0, errno
	}
	in, f, more, errno := n.LoopbackNode.Create(ctx, name, flags&^syscall.O_DIRECT, mode, out)
	if errno != 0 {
		return nil, nil, 0, errno
	}
	return in, &handle{f.(*fs.LoopbackFile), in.Operations().(*node)}, more, 0
}

// Rename implements fs.NodeRenamer.
func (n *node) Rename(ctx context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if errno := n.d.fault(Rename, name, 0, 0); errno != 0 {
		return errno
	}
	return n.LoopbackNode.Rename(ctx, name, to, newName, flags)
}

// OpendirHandle implements fs.NodeOpendirHandler.
func (n *node) OpendirHandle(ctx context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	f, more, errno := n.LoopbackNode.OpendirHandle(ctx, flags)
	if errno != 0 {
		return nil, 0, errno
	}
	return &dirHandle{f.(dirStream), n}, more, 0
}

// dirStream is what the directory below offers.
type dirStream interface {
	fs.FileReaddirenter
	fs.FileSeekdirer
	fs.FileReleasedirer
	fs.FileFsyncdirer
	fs.FileIoctler
}

// dirHandle is an open directory.
type dirHandle struct {
	dirStream
	n *node
}

// Fsyncdir implements fs.FileFsyncdirer.
func (h *dirHandle) Fsyncdir(ctx context.Context, flags uint32) syscall.Errno {
	if errno := h.n.d.fault(SyncDir, h.n.name(), 0, 0); errno != 0 {
		return errno
	}
	return h.dirStream.Fsyncdir(ctx, flags)
}

// handle is an open file.
type handle struct {
	*fs.LoopbackFile
	n *node
}

// PassthroughFd implements fs.FilePassthroughFder: nothing passes by.
func (*handle) PassthroughFd() (int, bool) { return 0, false }

// Read implements fs.FileReader.
func (h *handle) Read(ctx context.Context, buf []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	if errno := h.n.d.fault(Read, h.n.name(), off, off+int64(len(buf))); errno != 0 {
		return nil, errno
	}
	return h.LoopbackFile.Read(ctx, buf, off)
}

// Write implements fs.FileWriter.
func (h *handle) Write(ctx context.Context, data []byte, off int64) (uint32, syscall.Errno) {
	d := h.n.d
	d.mu.Lock()
	f := d.met(Write, h.n.name(), off, off+int64(len(data)))
	if f == nil || f.Err == 0 {
		ino := h.n.StableAttr().Ino
		d.dirty[ino] = append(d.dirty[ino], extent{off, int64(len(data))})
	}
	d.mu.Unlock()
	if errno := f.happens(); errno != 0 {
		return 0, errno
	}
	if f != nil && f.Flip {
		data = f.flipped(data, off)
	}
	return h.LoopbackFile.Write(ctx, data, off)
}

// Writev implements fs.FileWritever.
func (h *handle) Writev(ctx context.Context, data [][]byte, off int64) (n uint32, errno syscall.Errno) {
	for _, part := range data {
		m, errno := h.Write(ctx, part, off+int64(n))
		if n += m; errno != 0 {
			return n, errno
		}
	}
	return n, 0
}

// Fsync implements fs.FileFsyncer. One that fails has lost what was written since the one before,
// and the next says nothing of that, as of kernels: the bytes are zeros then.
func (h *handle) Fsync(ctx context.Context, flags uint32) syscall.Errno {
	d, ino := h.n.d, h.n.StableAttr().Ino
	d.mu.Lock()
	f := d.met(Sync, h.n.name(), 0, 0)
	dirty := d.dirty[ino]
	delete(d.dirty, ino)
	d.mu.Unlock()
	errno := f.happens()
	if errno == 0 {
		return h.LoopbackFile.Fsync(ctx, flags)
	}
	zeros := make([]byte, 1<<20)
	for _, x := range dirty {
		for x.length > 0 {
			m, werr := h.LoopbackFile.Write(ctx, zeros[:min(x.length, int64(len(zeros)))], x.at)
			if werr != 0 {
				return werr
			}
			x.at, x.length = x.at+int64(m), x.length-int64(m)
		}
	}
	return errno
}
