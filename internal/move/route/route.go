// Package route gives the paths that a user names their meaning, which is rsync's: "src" comes to
// lie at "dst/src", of "src/" what it holds comes to lie in "dst"; one source that is no directory
// takes the target's name where there is no directory of that name. It refuses to make more than
// the last directory of a target: a mistyped path is no target.
package route

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/move/tree"
)

// Source is what is read: directories with the names in them, as they come to lie in the target.
type Source struct {
	Tops []tree.Top
	Dirs []bool // which of Tops are directories, not links to some
}

// SourceOf is the source of paths. An error is of kind failure.Usage.
func SourceOf(paths []string) (s Source, err error) {
	for _, p := range paths {
		top, dir, err := source(p)
		if err != nil {
			return Source{}, err
		}
		s.Tops, s.Dirs = append(s.Tops, top), append(s.Dirs, dir)
	}
	return s, nil
}

// One tells that the source is a single entry which is no directory.
func (s Source) One() bool { return len(s.Dirs) == 1 && !s.Dirs[0] }

// Whole are the names in the target of what is copied as a directory: below them, what the source
// lacks is there in excess. "" is the target itself.
func (s Source) Whole() (names []string) {
	for i, dir := range s.Dirs {
		if dir {
			names = append(names, s.Tops[i].As)
		}
	}
	return names
}

func source(path string) (top tree.Top, dir bool, err error) {
	st, err := os.Lstat(path)
	if err != nil {
		return top, false, failure.Of(failure.Usage, "look at source: %w", err)
	}
	clean, base := Plain(path), filepath.Base(path)
	if Inside(path) {
		if st, err = os.Stat(path); err != nil || !st.IsDir() {
			return top, false, failure.Of(failure.Usage, "source %s is no directory", path)
		}
		return tree.Top{Dir: clean}, true, nil
	}
	return tree.Top{Dir: Above(clean), Name: base, As: base}, st.IsDir(), nil
}

// Inside tells whether a path of a source means what that directory holds.
func Inside(path string) bool {
	base := filepath.Base(path)
	return strings.HasSuffix(path, "/") || base == "." || base == ".."
}

// Plain is a path without what does not change where it leads. One with ".." stays: after a link
// that leads elsewhere than to what stands before the link.
func Plain(path string) string {
	if strings.Contains("/"+path+"/", "/../") {
		return path
	}
	return filepath.Clean(path)
}

// Above is the directory that a path's last part lies in.
func Above(path string) string {
	dir, _ := filepath.Split(strings.TrimRight(path, "/"))
	return Plain(dir)
}

// Target is where sources come to lie.
type Target struct {
	Root    string // the directory that is written to
	As      string // the name that a single source takes there; "": its own
	Missing bool   // Root is not there yet
}

// TargetOf is the target of a path; one tells that there is one source, which is no directory.
func TargetOf(path string, one bool) (Target, error) {
	st, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return Target{}, fmt.Errorf("look at target: %w", err)
	case !missing && st.IsDir():
		return Target{Root: path}, nil
	case !missing && !st.Mode().IsRegular() && isLink(path):
		return Target{}, failure.Of(failure.Usage, "target %s leads to neither a file nor a directory", path)
	case one && !strings.HasSuffix(path, "/"):
		return Target{Root: Above(path), As: filepath.Base(path)}, nil
	case !missing:
		return Target{}, failure.Of(failure.Usage, "target %s is no directory", path)
	}
	return Target{Root: path, Missing: true}, nil
}

// isLink tells that a path is a link itself, as /dev/stdout is: a file would be put in its place.
func isLink(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode()&fs.ModeSymlink != 0
}

// New tells that a target holds nothing under the names of what is copied as a directory, of which
// there is one at least. "" is the target itself.
func New(root string, whole []string) bool {
	for _, name := range whole {
		if name == "" {
			d, err := os.Open(root)
			if err != nil {
				return false
			}
			_, err = d.Readdirnames(1)
			_ = d.Close() // it was only read
			if !errors.Is(err, io.EOF) {
				return false
			}
		} else if _, err := os.Lstat(root + "/" + name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return len(whole) > 0
}

// Make makes the target's directory where it is missing.
func (t Target) Make() error {
	if !t.Missing {
		return nil
	}
	if err := os.Mkdir(t.Root, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return failure.Of(failure.Usage, "make target directory: %w; the directory above it has to be there", err)
	}
	return nil
}
