package copy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/move/tree"
)

// route is what comes to lie where.
type route struct {
	tops []tree.Top
	root string // the directory that is written to
	make bool   // it is not there yet
	dirs []bool // which tops are directories, not links to some
}

// routeOf gives sources and target their meaning, which is rsync's: "src" comes to lie at
// "dst/src", of "src/" what it holds comes to lie in "dst". One source that is no directory
// takes the target's name where there is no directory of that name.
func routeOf(sources []string, target string) (r route, err error) {
	for _, arg := range append(append([]string{}, sources...), target) {
		if host, _, ok := remote(arg); ok {
			return r, failure.Of(failure.Usage, "%s: copy works between paths of this host and its mounts for now, and %q is another host; a local path with a ':' is written ./%s", arg, host, arg)
		}
		if arg == "" {
			return r, failure.Of(failure.Usage, "an empty path names nothing")
		}
	}
	st, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.make = true
	case err != nil:
		return r, fmt.Errorf("look at target: %w", err)
	}
	isDir := err == nil && st.IsDir()
	r.root = target
	for _, src := range sources {
		top, dir, err := topOf(src)
		if err != nil {
			return r, err
		}
		r.tops, r.dirs = append(r.tops, top), append(r.dirs, dir)
	}
	one := len(r.tops) == 1 && !r.dirs[0]
	switch {
	case one && !isDir && !strings.HasSuffix(target, "/"):
		r.root, r.tops[0].As, r.make = filepath.Dir(target), filepath.Base(target), false
	case !isDir && !r.make:
		return r, failure.Of(failure.Usage, "target %s is no directory", target)
	}
	return r, r.outside()
}

// topOf is one source: the directory it is read from, and its name there.
func topOf(src string) (top tree.Top, dir bool, err error) {
	st, err := os.Lstat(src)
	if err != nil {
		return top, false, failure.Of(failure.Usage, "look at source: %w", err)
	}
	clean := filepath.Clean(src)
	base := filepath.Base(clean)
	inside := strings.HasSuffix(src, "/") || base == "." || base == ".." || base == "/" || strings.HasSuffix(src, "/.")
	if inside {
		if st, err = os.Stat(src); err != nil || !st.IsDir() {
			return top, false, failure.Of(failure.Usage, "source %s is no directory", src)
		}
		return tree.Top{Dir: clean}, true, nil
	}
	return tree.Top{Dir: filepath.Dir(clean), Name: base, As: base}, st.IsDir(), nil
}

// remote tells whether an argument names another host, as ssh and rsync read it: a ':'
// before any '/'.
func remote(arg string) (host, path string, ok bool) {
	host, path, ok = strings.Cut(arg, ":")
	return host, path, ok && host != "" && !strings.Contains(host, "/")
}

// outside refuses a target inside a source, which would be copied into itself, and a source
// that is its own target.
func (r route) outside() error {
	above, err := filepath.Abs(r.root)
	if err == nil {
		above, err = existing(above)
	}
	if err != nil {
		return fmt.Errorf("look at target: %w", err)
	}
	for i, t := range r.tops {
		if !r.dirs[i] {
			continue
		}
		src, err := os.Stat(filepath.Join(t.Dir, t.Name))
		if err != nil {
			return fmt.Errorf("look at source: %w", err)
		}
		for at := above; ; at = filepath.Dir(at) {
			st, err := os.Stat(at)
			if err != nil {
				return fmt.Errorf("look at target: %w", err)
			}
			if os.SameFile(src, st) {
				return failure.Of(failure.Usage, "target %s lies in the source %s: it would be copied into itself", r.root, filepath.Join(t.Dir, t.Name))
			}
			if at == filepath.Dir(at) {
				break
			}
		}
		if dst, err := os.Stat(filepath.Join(r.root, t.As)); err == nil && os.SameFile(src, dst) {
			return failure.Of(failure.Usage, "source %s and target are the same directory", filepath.Join(t.Dir, t.Name))
		}
	}
	return nil
}

// existing is the deepest part of a path that is there, without links.
func existing(path string) (string, error) {
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return real, err
		}
		path = filepath.Dir(path)
	}
}

// makeTarget makes the target directory, but none above it: a mistyped path is no target.
func (r route) makeTarget() error {
	if !r.make {
		return nil
	}
	if err := os.Mkdir(r.root, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return failure.Of(failure.Usage, "make target directory: %w; the directory above it has to be there", err)
	}
	return nil
}

// whole are the directories of the target that are to be as the source has them.
func (r route) whole() (out []string) {
	for i, t := range r.tops {
		if r.dirs[i] {
			out = append(out, t.As)
		}
	}
	return out
}
