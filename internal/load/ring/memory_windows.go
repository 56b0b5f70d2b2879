package ring

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Memory makes buffers, at the start of a page: I/O past the page cache asks for it.
func Memory(size int) ([]byte, error) {
	at, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("make buffers: %w", err)
	}
	return unsafe.Slice((*byte)(unsafe.Add(nil, at)), size), nil // no pointer of Go's: its collector does not own it
}

// Free returns what Memory made.
func Free(b []byte) error {
	if err := windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, windows.MEM_RELEASE); err != nil {
		return fmt.Errorf("free buffers: %w", err)
	}
	return nil
}
