//go:build !linux

package frames

import (
	"errors"
	"fmt"
	"os"

	"linerate/internal/unit"
)

// openFile opens a file; past the page cache is built for Linux only.
func openFile(path string, flags int, direct bool) (*os.File, error) {
	if direct {
		return nil, fmt.Errorf("%w: it is built for Linux only", ErrNoDirect)
	}
	return os.OpenFile(path, flags, 0o600)
}

// forget is not to be had here.
func forget(*os.File) error { return errors.New("this system is not asked to drop its page cache") }

// room is not told here.
func room(string) unit.Bytes { return -1 }
