package tree

import (
	"context"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/move"
)

// manyFiles is how many files a process has to be allowed to have open, for some to be opened ahead:
// readers have a few hundred.
const manyFiles = 1024

// mayOpenMany tells whether this process is allowed as many.
func mayOpenMany() bool {
	var most unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &most) == nil && most.Cur >= manyFiles
}

// OpenAhead implements move.Ahead for files on disks of this host. On a mount they are opened in their
// turn: a server answers several readers at once, and a client of SMB opens no file while it is open
// by another of its names.
func (t *Tree) OpenAhead(ctx context.Context, e *move.Entry) move.SourceFile {
	near, known := t.near.Load(e.Node.Dev)
	if near == false || !t.ahead || t.o.Cold { // each of which has a second descriptor
		return nil
	}
	f, err := t.open(ctx, e)
	if err != nil {
		return nil
	}
	if !known {
		near = kernel.OnDisk(f.fd.fd)
		t.near.Store(e.Node.Dev, near)
	}
	if near != true {
		_ = f.Close() // it was only opened
		return nil
	}
	if !f.past.Load() && f.e.Size <= move.PackSize {
		_ = unix.Fadvise(f.fd.fd, 0, f.e.Size, unix.FADV_WILLNEED) // advice
	}
	return f
}
