package qemu

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Kernel is what a machine runs on: an emulator, and a kernel with its modules.
type Kernel struct {
	QEMU    string // the program
	Image   string // what boots
	Modules string // the directory with modules.dep
	Release string // as uname -r says it
}

// ErrMissing is the kind of the error for a program or kernel that is not installed.
var ErrMissing = errors.New("not installed")

func missing(what, packages string) error {
	return fmt.Errorf("%s: %w; apt-get install --no-install-recommends %s", what, ErrMissing, packages)
}

const emulator = "qemu-system-x86_64"

// binDirs are the directories to search for programs, whatever the caller's PATH: an ordinary
// user's PATH lacks those with the disk tools.
func binDirs() []string {
	return []string{"usr/bin", "usr/sbin", "bin", "sbin", "usr/local/bin", "usr/local/sbin"}
}

// program finds a program below the first of roots that has it.
func program(name string, roots ...string) (string, bool) {
	for _, root := range roots {
		for _, dir := range binDirs() {
			path := filepath.Join(root, dir, name)
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
				return path, true
			}
		}
	}
	return "", false
}

// Find looks below roots (none: the file system's) for the emulator and for the
// newest kernel in /boot that has its modules in /lib/modules. If something is missing, the
// error is an ErrMissing that names Debian's packages.
func Find(roots ...string) (Kernel, error) {
	if len(roots) == 0 {
		roots = []string{"/"}
	}
	var packages, lacking []string
	emu, ok := program(emulator, roots...)
	if !ok {
		lacking, packages = append(lacking, emulator), append(packages, "qemu-system-x86")
	}
	k, err := newest(roots)
	if err != nil {
		return Kernel{}, fmt.Errorf("find kernel: %w", err)
	}
	if k.Image == "" {
		lacking, packages = append(lacking, "a kernel with its modules"), append(packages, "linux-image-amd64")
	}
	if len(lacking) > 0 {
		return Kernel{}, fmt.Errorf("find emulator and kernel: %w", missing(strings.Join(lacking, " and "), strings.Join(packages, " ")))
	}
	k.QEMU = emu
	return k, nil
}

// newest returns the kernel of the highest release; to find none is not an error. A kernel
// that this user may not read (on some distributions only root may) is returned only if there
// is no other.
func newest(roots []string) (Kernel, error) {
	var best Kernel
	var denied error
	for _, root := range roots {
		images, err := filepath.Glob(filepath.Join(quoteGlob(root), "boot", "vmlinuz-*"))
		if err != nil {
			return Kernel{}, err
		}
		for _, image := range images {
			release := strings.TrimPrefix(filepath.Base(image), "vmlinuz-")
			k := Kernel{Image: image, Release: release, Modules: filepath.Join(root, "lib", "modules", release)}
			if _, err := os.Stat(filepath.Join(k.Modules, depFile)); err != nil {
				continue
			}
			f, err := os.Open(image)
			if err != nil {
				denied = err
				continue
			}
			f.Close()
			if best.Image == "" || compareReleases(k.Release, best.Release) > 0 {
				best = k
			}
		}
	}
	if best.Image == "" && denied != nil {
		return best, denied
	}
	return best, nil
}

// quoteGlob escapes a path so that filepath.Glob takes it literally.
func quoteGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// compareReleases orders releases as people do: 6.1.0-9 before 6.1.0-56. Runs
// of digits compare as numbers, all else as text.
func compareReleases(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a = nextRun(a)
		y, b = nextRun(b)
		if isDigit(x[0]) && isDigit(y[0]) {
			x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
			if c := cmp.Compare(len(x), len(y)); c != 0 {
				return c
			}
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// nextRun cuts the leading run of digits, or of anything else, off s.
func nextRun(s string) (run, rest string) {
	i := 1
	for i < len(s) && isDigit(s[i]) == isDigit(s[0]) {
		i++
	}
	return s[:i], s[i:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
