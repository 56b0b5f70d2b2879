package frames

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openFile opens a file, and if asked has the system keep nothing of it in memory (fcntl(2),
// F_NOCACHE).
func openFile(path string, flags int, direct bool) (*os.File, error) {
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil || !direct {
		return f, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrNoDirect, err), f.Close())
	}
	return f, nil
}
