//go:build linux || freebsd

package frames

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openFile opens a file, past the page cache if asked.
func openFile(path string, flags int, direct bool) (*os.File, error) {
	if direct {
		flags |= unix.O_DIRECT
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if direct && errors.Is(err, unix.EINVAL) {
		return nil, fmt.Errorf("%w: %w", ErrNoDirect, err)
	}
	return f, err
}
