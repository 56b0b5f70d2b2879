//go:build !unix

package snapshot

// unblocked: a folder here has no FIFO.
const unblocked = 0
