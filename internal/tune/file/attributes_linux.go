package file

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// copyAttributes copies the extended attributes of the file to be replaced: an SELinux label, an
// access list. That file may be missing, and a file system may have none.
func copyAttributes(from, to string) error {
	names := make([]byte, 64<<10) // XATTR_LIST_MAX
	n, err := syscall.Listxattr(from, names)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list attributes of %s: %w", from, err)
	}
	value := make([]byte, 64<<10) // XATTR_SIZE_MAX
	for _, name := range strings.Split(strings.TrimSuffix(string(names[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		size, err := syscall.Getxattr(from, name, value)
		if err == nil {
			err = syscall.Setxattr(to, name, value[:size], 0)
		}
		if err != nil {
			return fmt.Errorf("copy attribute %s of %s: %w", name, from, err)
		}
	}
	return nil
}
