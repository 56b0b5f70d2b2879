package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// pages is memory that begins at a page, as O_DIRECT asks for.
type pages struct{ b []byte }

func buffer(size int) (pages, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return pages{}, fmt.Errorf("get %d bytes of memory: %w", size, err)
	}
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // fewer to pin at each read and write; a system without them has small ones
	return pages{b}, nil
}

func (p pages) free() { _ = unix.Munmap(p.b) } // nobody uses it any more
