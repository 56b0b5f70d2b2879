// Package movetest makes hostile trees and says what a tree holds, for the tests of the
// mover. It shares no code with what it tests, and refuses to run but in tests.
package movetest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// must ends a test at the first error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Write makes a file with its directory.
func Write(t testing.TB, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644))
}

// Pattern is n bytes that differ at every place.
func Pattern(n int, seed byte) []byte {
	b := make([]byte, n)
	x := uint32(seed) + 1
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = byte(x >> 24)
	}
	return b
}

// Hostile fills dir with what copies are known to lose. Devices and owners are there only
// for root.
func Hostile(t testing.TB, dir string) {
	t.Helper()
	for _, name := range []string{"plain", "new\nline", "in\xff\xfevalid", strings.Repeat("n", 255), "-rf", " ", "ü", "u\u0308", "quote\"s", "empty", "a/b/c/deep"} {
		Write(t, filepath.Join(dir, name), "content of "+name)
	}
	must(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600), os.Mkdir(filepath.Join(dir, "nothing in it"), 0o711),
		os.Symlink("plain", filepath.Join(dir, "link")), os.Symlink("nowhere/at\xffall", filepath.Join(dir, "dangling")),
		os.Symlink(t.TempDir(), filepath.Join(dir, "absolute")), os.Symlink("a", filepath.Join(dir, "link to directory")),
		os.Link(filepath.Join(dir, "plain"), filepath.Join(dir, "plain 2")), os.Link(filepath.Join(dir, "plain"), filepath.Join(dir, "a/b/plain 3")),
		unix.Mkfifo(filepath.Join(dir, "fifo"), 0o640))
	must(t, os.WriteFile(filepath.Join(dir, "large"), Pattern(9<<20+17, 3), 0o640))
	sparse(t, filepath.Join(dir, "sparse"))
	if err := unix.Setxattr(filepath.Join(dir, "a"), "user.dir", []byte{0, 1, 2}, 0); err == nil {
		must(t, unix.Setxattr(filepath.Join(dir, "plain"), "user.x\xff", []byte("value\x00"), 0), unix.Setxattr(filepath.Join(dir, "large"), "user.l", nil, 0))
	}
	deep(t, dir, 30)
	if os.Geteuid() == 0 {
		must(t, unix.Mknod(filepath.Join(dir, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))), os.Lchown(filepath.Join(dir, "link"), 12345, 54321),
			os.Chown(filepath.Join(dir, "in\xff\xfevalid"), 4000000000, 7), os.Chown(filepath.Join(dir, "a"), 1000, 1000))
	}
	must(t, os.Chmod(filepath.Join(dir, "-rf"), 0o400), os.Chmod(filepath.Join(dir, "a/b"), 0o1755))
	for name, sec := range map[string]int64{"empty": -86400 * 365 * 60, "ü": 1 << 33, "-rf": 4300000000, "dangling": 1, "a/b": 1234567890, "fifo": 7, "large": 1000} {
		ts := []unix.Timespec{{Sec: 5}, {Sec: sec, Nsec: 123456789}}
		must(t, unix.UtimesNanoAt(unix.AT_FDCWD, filepath.Join(dir, name), ts, unix.AT_SYMLINK_NOFOLLOW))
	}
}

// sparse makes 64 MiB with data at three places, and a hole at its end.
func sparse(t testing.TB, path string) {
	f, err := os.Create(path)
	must(t, err)
	for _, at := range []int64{0, 12 << 20, 33<<20 + 8192} {
		_, err = f.WriteAt(Pattern(4096, byte(at>>20)), at)
		must(t, err)
	}
	must(t, f.Truncate(64<<20), f.Close())
}

// deep makes directories below dir whose path is longer than PATH_MAX.
func deep(t testing.TB, dir string, levels int) {
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	name := strings.Repeat("d", 200)
	for range levels {
		must(t, unix.Mkdirat(at, name, 0o755))
		next, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err, unix.Close(at))
		at = next
	}
	f, err := unix.Openat(at, "bottom", unix.O_CREAT|unix.O_WRONLY, 0o644)
	must(t, err)
	_, err = unix.Write(f, []byte("far down"))
	must(t, err, unix.Close(f), unix.Close(at))
}

// Describe says what a tree holds: a line of all that is kept for every path, but its
// allocation. Names that came of one inode name the first of them.
func Describe(t testing.TB, dir string) map[string]string {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	out := map[string]string{}
	var links [][2]string
	walk(t, fd, "", out, &links)
	first := map[string]string{}
	for _, l := range links { // lists differ in order: the least name stands for all
		if f, ok := first[l[0]]; !ok || l[1] < f {
			first[l[0]] = l[1]
		}
	}
	for _, l := range links {
		out[l[1]] += " = " + first[l[0]]
	}
	return out
}

func walk(t testing.TB, fd int, path string, out map[string]string, links *[][2]string) {
	t.Helper()
	out[path] = line(t, fd, ".", path, links)
	d := os.NewFile(uintptr(fd), path)
	defer d.Close()
	names, err := d.Readdirnames(-1)
	must(t, err)
	for _, name := range names {
		var st unix.Stat_t
		must(t, unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW))
		p := strings.TrimPrefix(path+"/"+name, "/")
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(t, err)
			walk(t, next, p, out, links)
			continue
		}
		out[p] = line(t, fd, name, p, links)
	}
}

func line(t testing.TB, dir int, name, path string, links *[][2]string) string {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW))
	text := fmt.Sprintf("%o %d:%d %d.%09d", st.Mode, st.Uid, st.Gid, st.Mtim.Sec, st.Mtim.Nsec)
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && st.Nlink > 1 {
		*links = append(*links, [2]string{fmt.Sprintf("%d:%d", st.Dev, st.Ino), path})
	}
	p, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	must(t, err)
	defer unix.Close(p)
	proc := fmt.Sprintf("/proc/self/fd/%d", p)
	switch kind {
	case unix.S_IFLNK:
		b := make([]byte, 65536)
		n, err := unix.Readlinkat(dir, name, b)
		must(t, err)
		text += fmt.Sprintf(" -> %q", b[:n])
	case unix.S_IFREG:
		b, err := os.ReadFile(proc)
		must(t, err)
		text += fmt.Sprintf(" %d %x", len(b), sha256.Sum256(b))
	case unix.S_IFCHR, unix.S_IFBLK:
		text += fmt.Sprintf(" device %d", st.Rdev)
	}
	b := make([]byte, 65536)
	if n, err := unix.Listxattr(proc, b); err == nil {
		for _, x := range strings.Split(strings.TrimSuffix(string(b[:n]), "\x00"), "\x00") {
			v := make([]byte, 65536)
			if m, err := unix.Getxattr(proc, x, v); err == nil && x != "" {
				text += fmt.Sprintf(" %q=%q", x, v[:m])
			}
		}
	}
	return text
}

// Same compares two trees.
func Same(t testing.TB, want, got string) {
	t.Helper()
	Equal(t, Describe(t, want), Describe(t, got))
}

// Equal compares two descriptions.
func Equal(t testing.TB, want, got map[string]string) {
	t.Helper()
	for path, w := range want {
		if g, ok := got[path]; !ok {
			t.Errorf("%q is missing", path)
		} else if g != w {
			t.Errorf("%q is\n  %s, want\n  %s", path, g, w)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%q is there and not in the source", path)
		}
	}
}

// Allocated is how many bytes a file has on its disk.
func Allocated(t testing.TB, path string) int64 {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Lstat(path, &st))
	return st.Blocks * 512
}
