//go:build !linux

package load

import (
	"errors"
	"fmt"
	"runtime"
)

// memoryFile is not to be had here.
type memoryFile struct{}

func newMemoryFile([]byte) (*memoryFile, error) {
	return nil, fmt.Errorf("send a file from memory: unsupported on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (m *memoryFile) close() {}

func (w *wire) sendFile(*memoryFile, int) (int, error) { return 0, errors.ErrUnsupported }
