package block

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// macOS has no flag to open a file with. Its O_DSYNC leaves what was written in the disk's cache, so
// that every write is followed by a sync instead.
const directFlag, everyFlag = 0, 0

// passCache asks not to keep what is read and written (fcntl(2), F_NOCACHE).
func passCache(f *os.File) error {
	if _, err := unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1); err != nil {
		return fmt.Errorf("%w: %w", ErrNoDirect, err)
	}
	return nil
}

// Unproven says why it is not certain that the page cache was passed by.
func (s Spec) Unproven() string {
	if !s.Direct {
		return ""
	}
	return "macOS was asked not to keep what is read and written (F_NOCACHE): what lay in its memory before is still read from there, and how much that was is not known"
}
