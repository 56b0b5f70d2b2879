package tune

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes the lock or fails with ErrBusy: a file that is shared for
// reading only is its holder's alone to write until the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	const sharingViolation = syscall.Errno(32)
	if errors.Is(err, sharingViolation) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return os.NewFile(uintptr(h), path), nil
}

func unlockFile(f *os.File) error { return f.Close() }

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
