package kernel

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// MaxFile is the most that Root reads of, or writes to, one file, in bytes. No
// file of /proc or /sys that linerate reads comes near it.
const MaxFile = 1 << 20

// ErrHugeFile is the kind of error for a file beyond MaxFile.
var ErrHugeFile = fmt.Errorf("larger than %d bytes", MaxFile)

// Root is the directory that stands for "/": "/" on a running host, a
// recorded tree in a test. The empty Root is "/".
type Root string

// Path maps an absolute slash-separated path to where it lies under r. ".."
// cannot climb out of r; symbolic links are followed as they stand.
func (r Root) Path(abs string) string {
	base := string(r)
	if base == "" {
		base = "/"
	}
	return filepath.Join(base, filepath.FromSlash(path.Clean("/"+abs)))
}

// ReadFile returns a whole file. A file above MaxFile is an error, not a truncated answer. Errors
// keep fs.ErrNotExist and fs.ErrPermission for errors.Is and name the path.
func (r Root) ReadFile(abs string) ([]byte, error) {
	name := r.Path(abs)
	b, more, err := readFile(name, MaxFile)
	if more {
		return nil, fmt.Errorf("read %s: %w", name, ErrHugeFile)
	}
	return b, err
}

// WriteFile writes b to an existing file in one write call, as the files of /proc/sys require.
// It never creates a file: a setting that the kernel does not have is an error
// (fs.ErrNotExist).
func (r Root) WriteFile(abs string, b []byte) error {
	if len(b) > MaxFile {
		return fmt.Errorf("write %s: %d bytes are more than %d", r.Path(abs), len(b), MaxFile)
	}
	f, err := os.OpenFile(r.Path(abs), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// Exists reports whether the name exists, as far as this user may see.
func (r Root) Exists(abs string) bool {
	_, err := os.Lstat(r.Path(abs))
	return err == nil
}

// ReadDir returns the sorted names in a directory.
func (r Root) ReadDir(abs string) ([]string, error) {
	entries, err := os.ReadDir(r.Path(abs))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// Readlink returns what a symbolic link holds, unresolved.
func (r Root) Readlink(abs string) (string, error) { return os.Readlink(r.Path(abs)) }

// ReplaceFile replaces the content of an existing file by b atomically: a reader sees either
// all of the old content or all of the new one. It keeps the mode and, as far as permitted,
// the owner. It keeps a symbolic link and replaces the file that the link points to.
func (r Root) ReplaceFile(abs string, b []byte) (err error) {
	file, err := filepath.EvalSymlinks(r.Path(abs))
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".linerate-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), keepOwner(f, info), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
