//go:build !unix

package kernel

// Unblocked: no path of a folder here is a FIFO.
const Unblocked = 0
