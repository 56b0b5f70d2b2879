package kernel

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Remount changes what is mounted at point: flags, which replace all flags of the mount and of
// its file system by their names in /proc/self/mountinfo, and the file system's own options. A
// name that stands for no flag is an error, and nothing is changed.
func Remount(point string, flags []string, options string) error {
	names := map[string]uintptr{
		"ro": unix.MS_RDONLY, "nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC, "noatime": unix.MS_NOATIME,
		"nodiratime": unix.MS_NODIRATIME, "relatime": unix.MS_RELATIME, "nosymfollow": unix.MS_NOSYMFOLLOW,
		"sync": unix.MS_SYNCHRONOUS, "dirsync": unix.MS_DIRSYNC, "mand": unix.MS_MANDLOCK, "lazytime": unix.MS_LAZYTIME,
	}
	bits := uintptr(unix.MS_REMOUNT)
	strict := uintptr(unix.MS_STRICTATIME) // without it the kernel takes relatime
	for _, f := range flags {
		bit, ok := names[f]
		if !ok {
			return fmt.Errorf("remount %s: flag %q is not known: %w", point, f, unix.EINVAL)
		}
		if bits |= bit; f == "noatime" || f == "relatime" {
			strict = 0
		}
	}
	if err := unix.Mount("none", point, "", bits|strict, options); err != nil {
		return fmt.Errorf("remount %s: %w", point, err)
	}
	return nil
}
