package tune

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"linerate/internal/kernel"
)

// noFollow is no flag of this system's; what was opened is compared with what was looked at.
const noFollow = 0

// syncOpened does nothing: Windows cannot sync a directory, NTFS journals names.
func syncOpened(*os.File) error { return nil }

// private cannot be told from mode bits here; the directory's access list is
// inherited from the user's profile.
func private(os.FileInfo) bool { return true }

// othersWrite cannot be told from mode bits here; see private.
func othersWrite(fs.FileInfo) bool { return false }

// foreignOwner cannot be told from what a file's information has here; see private.
func foreignOwner(fs.FileInfo) (uid uint32, foreign bool) { return 0, false }

// namesOf is not looked up here.
func namesOf(fs.FileInfo) uint64 { return 1 }

// removeIn removes a name in the directory. Not every file system has the call by which a name in an open
// directory is removed.
func (d *state) removeIn(name string) error {
	err := d.root.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Remove(d.full(name))
}

// openLock opens the file of the lock and locks it.
func (d *state) openLock() (*os.File, error) { return kernel.LockFile(d.full(lockName)) }

// unwritable tells whether a file could not be written to as its disk is write-protected or fails.
func unwritable(err error) bool {
	const writeProtect, writeFault, ioDevice = syscall.Errno(19), syscall.Errno(29), syscall.Errno(1117)
	return errors.Is(err, writeProtect) || errors.Is(err, writeFault) || errors.Is(err, ioDevice)
}
