package tune

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes the lock or fails with ErrBusy: a file opened without sharing
// is its holder's alone until the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	const sharingViolation = syscall.Errno(32)
	if errors.Is(err, sharingViolation) {
		return nil, ErrBusy
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncDir does nothing: Windows cannot sync a directory, NTFS journals names.
func syncDir(string) error { return nil }

// private cannot be told from mode bits here; the directory's access list is
// inherited from the user's profile.
func private(os.FileInfo) bool { return true }
