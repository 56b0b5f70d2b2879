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

// openLock opens the file of the lock and locks it.
func (d *state) openLock() (*os.File, error) { return kernel.LockFile(d.full(lockName)) }

// diskFull tells whether a write failed for want of room.
func diskFull(err error) bool {
	const diskFull, handleDiskFull = syscall.Errno(112), syscall.Errno(39)
	return errors.Is(err, diskFull) || errors.Is(err, handleDiskFull)
}
