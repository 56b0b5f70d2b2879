// Package ring is the raw binding of io_uring(7) that the load generator needs:
// reads, writes and syncs of registered files with registered buffers, pushed
// and reaped without an allocation or a lock.
//
// It covers no other operation, no polling thread and no shared ring. A Ring
// belongs to one locked thread. It refuses to guess: where the kernel has no
// io_uring, or forbids it, New says so (ErrUnavailable) and the caller uses
// threads with pread and pwrite.
package ring

import "errors"

// ErrUnavailable is the cause when this system has no io_uring to offer.
var ErrUnavailable = errors.New("io_uring is not to be had here")

// Kind is an operation.
type Kind uint8

// Read and Write move the whole of a registered buffer's part; Fsync and
// Fdatasync make durable what was written; Nop does nothing but complete.
const (
	Nop Kind = iota
	Read
	Write
	Fsync
	Fdatasync
)

// Op is one operation on a registered file and a registered buffer.
type Op struct {
	Kind   Kind
	File   int    // index of RegisterFiles
	Buffer int    // index of RegisterBuffers
	From   int    // first byte within the buffer
	Len    int    // bytes
	Offset int64  // in the file
	Tag    uint64 // comes back with the completion
}

// Completion is the end of an operation: Result is a number of bytes, or an
// error number below 0.
type Completion struct {
	Tag    uint64
	Result int32
}
