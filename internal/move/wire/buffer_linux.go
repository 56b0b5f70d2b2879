package wire

import (
	"reflect"

	"golang.org/x/sys/unix"
)

// hugePage is that of most machines; where it is larger, a buffer has small pages.
const hugePage = 2 << 20

// newBuffer is memory for the data of one frame, in huge pages where the system gives them: reading
// and writing past the page cache pins every page of it, each time.
func newBuffer() []byte {
	b := make([]byte, MaxData+hugePage)
	skip := -int(reflect.ValueOf(b).Pointer()) & (hugePage - 1)
	b = b[skip : skip+MaxData : skip+MaxData]
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE) // a system without them has small pages
	return b
}
