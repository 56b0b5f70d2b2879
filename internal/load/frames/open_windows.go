package frames

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"

	"linerate/internal/unit"
)

// openFile opens a file, past the page cache if asked.
func openFile(path string, flags int, direct bool) (*os.File, error) {
	if direct {
		flags |= windows.FILE_FLAG_NO_BUFFERING // os.OpenFile passes these flags on
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if direct && errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return nil, fmt.Errorf("%w: %w", ErrNoDirect, err)
	}
	return f, err
}

// room is what a directory's volume has free for this user; below 0: not known.
func room(dir string) unit.Bytes {
	var free uint64
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil || windows.GetDiskFreeSpaceEx(path, &free, nil, nil) != nil || free > 1<<62 {
		return -1
	}
	return unit.Bytes(free)
}
