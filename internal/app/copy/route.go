package copy

import (
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
	return r, nil
}

// remote tells whether an argument names another host, as ssh and rsync read it: a ':'
// before any '/'.
func remote(arg string) (host, path string, ok bool) {
	host, path, ok = strings.Cut(arg, ":")
	return host, path, ok && host != "" && !strings.Contains(host, "/")
}

// apart refuses what paths.Landing.Apart does.
func (r route) apart(o Options) error {
	from, err := r.Spots()
	if err != nil {
		return err
	}
	land, err := r.Landing(r.Whole())
	if err != nil {
		return err
	}
	land.OneKernel(from)
	return land.Apart(from, o.Delete, o.Exclude)
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
