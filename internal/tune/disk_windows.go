package tune

import (
	"errors"
	"os"
	"syscall"
)

// syncDir does nothing: Windows cannot sync a directory, NTFS journals names.
func syncDir(string) error { return nil }

// private cannot be told from mode bits here; the directory's access list is
// inherited from the user's profile.
func private(os.FileInfo) bool { return true }

// diskFull tells whether a write failed for want of room.
func diskFull(err error) bool {
	const diskFull, handleDiskFull = syscall.Errno(112), syscall.Errno(39)
	return errors.Is(err, diskFull) || errors.Is(err, handleDiskFull)
}
