package block

import (
	"os"

	"golang.org/x/sys/unix"
)

const directFlag, everyFlag = unix.O_DIRECT, unix.O_SYNC

// passCache has nothing to add to the flag.
func passCache(*os.File) error { return nil }

// Unproven says why it is not certain that the page cache was passed by.
func (s Spec) Unproven() string {
	if !s.Direct {
		return ""
	}
	return "FreeBSD was asked to pass its page cache by (O_DIRECT), which file systems may ignore, as ZFS did before it had direct I/O: how much came from there all the same is not known"
}
