//go:build !linux

package load

import (
	"errors"
	"fmt"
	"runtime"
)

// cachedFile is not to be had here.
type cachedFile struct{}

const spool = ""

func newCachedFile([]byte, string) (*cachedFile, error) {
	return nil, fmt.Errorf("send a file from memory: unsupported on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (m *cachedFile) close() {}

func (w *wire) sendFile(*cachedFile, int) (int, error) { return 0, errors.ErrUnsupported }
