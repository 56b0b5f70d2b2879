package copy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/failure"
	paths "linerate/internal/move/route"
)

// route says which source goes to which place in the target.
type route struct {
	paths.Source
	paths.Target
}

// routeOf resolves the arguments of a copy within this host.
func routeOf(sources []string, target string) (r route, err error) {
	for _, arg := range append(append([]string{}, sources...), target) {
		if host, _, ok := remote(arg); ok {
			return r, failure.Of(failure.Usage, "%s: copy works between paths of this host and its mounts for now, and %q is another host; a local path with a ':' is written ./%s", arg, host, arg)
		}
		if arg == "" {
			return r, failure.Of(failure.Usage, "an empty path names nothing")
		}
	}
	if r.Source, err = paths.SourceOf(sources); err != nil {
		return r, err
	}
	if r.Target, err = paths.TargetOf(target, r.One()); err != nil {
		return r, err
	}
	if r.As != "" {
		r.Tops[0].As = r.As
	}
	return r, r.outside()
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
	above, err := absolute(r.Root)
	if err == nil {
		above, err = existing(above)
	}
	if err != nil {
		return fmt.Errorf("look at target: %w", err)
	}
	for i, t := range r.Tops {
		if !r.Dirs[i] {
			continue
		}
		from := paths.Plain(t.Dir + "/" + t.Name)
		src, err := os.Stat(from)
		if err != nil {
			return fmt.Errorf("look at source: %w", err)
		}
		for at := above; ; at = filepath.Dir(at) {
			st, err := os.Stat(at)
			if err != nil {
				return fmt.Errorf("look at target: %w", err)
			}
			if os.SameFile(src, st) {
				return failure.Of(failure.Usage, "target %s lies in the source %s: it would be copied into itself", r.Root, from)
			}
			if at == filepath.Dir(at) {
				break
			}
		}
		if dst, err := os.Stat(r.Root + "/" + t.As); err == nil && os.SameFile(src, dst) {
			return failure.Of(failure.Usage, "source %s and target are the same directory", from)
		}
	}
	return nil
}

// existing is the deepest part of a path that is there, without links.
func existing(path string) (string, error) {
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || path == "/" {
			return real, err
		}
		path = paths.Above(path)
	}
}

// absolute is a path from the root on, that leads where the given one does: links in the name of
// the working directory are left to the system.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return paths.Plain(path), nil
	}
	dir, err := os.Getwd()
	return paths.Plain(dir + "/" + path), err
}
