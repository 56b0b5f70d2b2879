//go:build unix

package kernel

import "syscall"

// Unblocked has an open return at once where a FIFO lies at the path.
const Unblocked = syscall.O_NONBLOCK
