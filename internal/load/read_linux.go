package load

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
)

// openQuietly opens for reading without following a link at the end, without
// waiting for a pipe's writer, and where the kernel allows without touching the
// time of last access.
func openQuietly(path string) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NOFOLLOW | unix.O_NONBLOCK
	fd, err := unix.Open(path, flags|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) { // not the owner
		fd, err = unix.Open(path, flags, 0)
	}
	if err != nil {
		return nil, err
	}
	// Blocking again, or Go's poller takes it over.
	if err := unix.SetNonblock(fd, false); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), path), nil
}

func setDirect(f *os.File) error {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags|unix.O_DIRECT)
	}
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("its file system does not support O_DIRECT: %w", err)
	}
	return err
}

func dropCache(f *os.File) error { return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED) }

// mapped bounds the part of a file whose residency is looked up.
const mapped = 4 << 30

// cachedShare is the share of a file that is in the page cache by mincore(2).
// Since Linux 5.2 (mm/mincore.c, can_do_mincore) it answers truly only those
// who own the file or could write it.
func cachedShare(f *os.File, size int64) *float64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || os.Geteuid() != 0 && int(st.Uid) != os.Geteuid() {
		return nil
	}
	size = min(size, mapped)
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	pages := make([]byte, (size+int64(os.Getpagesize())-1)/int64(os.Getpagesize()))
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), uintptr(size), uintptr(unsafe.Pointer(&pages[0])))
	if err := unix.Munmap(b); err != nil || errno != 0 {
		return nil
	}
	in := 0
	for _, p := range pages {
		in += int(p & 1)
	}
	share := float64(in) / float64(len(pages))
	return &share
}

// readAhead of the file's file system, from /sys/class/bdi; 0 where there is none.
func readAhead(f *os.File) int64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return 0
	}
	path := fmt.Sprintf("/sys/class/bdi/%d:%d/read_ahead_kb", unix.Major(st.Dev), unix.Minor(st.Dev))
	return numberIn(path) << 10
}

// numberIn reads a file that holds one number, with or without a K; 0 if it
// does not.
func numberIn(path string) int64 {
	b, err := kernel.Root("/").ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(b)), "K"), 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0
	}
	return n
}

// largestCache of CPU 0 in bytes, as sysfs prints it (in K); 0: not known.
func largestCache() int64 {
	var most int64
	for i := range 6 {
		most = max(most, numberIn(fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d/size", i))<<10)
	}
	return most
}

// freeMemory is MemAvailable in bytes; 0: not known.
func freeMemory() int64 {
	b, err := kernel.Root("/").ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == "MemAvailable:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil || n < 0 || n > 1<<40 {
				return 0
			}
			return n << 10
		}
	}
	return 0
}

func sameDevice(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Lstat(a, &x) == nil && unix.Lstat(b, &y) == nil && x.Dev == y.Dev
}
