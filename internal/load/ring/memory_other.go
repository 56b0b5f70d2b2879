//go:build !linux && !windows

package ring

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Memory makes buffers, at the start of a page: I/O past the page cache asks for it.
func Memory(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("make buffers: %w", err)
	}
	return b, nil
}

// Free returns what Memory made.
func Free(b []byte) error {
	if err := unix.Munmap(b); err != nil {
		return fmt.Errorf("free buffers: %w", err)
	}
	return nil
}
