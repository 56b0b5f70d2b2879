//go:build unix

package snapshot

import "syscall"

// unblocked has an open return at once where a FIFO took the file's place.
const unblocked = syscall.O_NONBLOCK
