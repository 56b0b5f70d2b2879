package mover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/move/tree"
)

// usageError is a path that cannot be had as it was asked for.
type usageError struct{ err error }

// Error implements error.
func (e *usageError) Error() string { return e.err.Error() }

// Unwrap gives the cause.
func (e *usageError) Unwrap() error { return e.err }

func refuse(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// topsOf is what the source reads; one tells that it is one entry and no directory.
func topsOf(paths []string) (tops []tree.Top, one bool, err error) {
	for _, p := range paths {
		st, err := os.Lstat(p)
		if err != nil {
			return nil, false, refuse("look at source: %w", err)
		}
		clean, inside := filepath.Clean(p), strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.")
		if inside || clean == "/" {
			if st, err = os.Stat(p); err != nil || !st.IsDir() {
				return nil, false, refuse("source %s is no directory", p)
			}
			tops = append(tops, tree.Top{Dir: clean})
			continue
		}
		tops = append(tops, tree.Top{Dir: filepath.Dir(clean), Name: filepath.Base(clean), As: filepath.Base(clean)})
		one = len(paths) == 1 && !st.IsDir()
	}
	return tops, one, nil
}

// rootOf is the directory that the target writes to, which is made where only it is missing,
// and the name that a single source takes there; "": its own.
func rootOf(target string, one bool) (root, as string, err error) {
	st, err := os.Stat(target)
	isDir := err == nil && st.IsDir()
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", "", fmt.Errorf("look at target: %w", err)
	case isDir:
		return target, "", nil
	case one && !strings.HasSuffix(target, "/"):
		return filepath.Dir(target), filepath.Base(target), nil
	case err == nil:
		return "", "", refuse("target %s is no directory", target)
	}
	if err := os.Mkdir(target, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", "", refuse("make target directory: %w; the directory above it has to be there", err)
	}
	return target, "", nil
}
