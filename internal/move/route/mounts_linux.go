package route

import (
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/move"
)

// fsOf names the file system of a mount within its kernel. Those of other hosts, and of processes, do not tell
// which part of them a mount shows: what was mounted is part of the name there.
func fsOf(m kernel.MountNode) string {
	if m.Options["addr"] != "" || strings.ContainsAny(m.Source, ":@") || strings.HasPrefix(m.Type, "fuse") || m.Type == "9p" || strings.HasPrefix(m.Source, "//") {
		return m.Dev + " " + m.Source
	}
	return m.Dev
}

// parts are a path of a mount as a directory of its file system, and of what that keeps its files in.
func (l *looker) parts(m kernel.MountNode, rest string) []Part {
	out := []Part{{FS: fsOf(m), Root: move.Raw(path.Join(m.Root, rest))}}
	if server, top := l.server(m), served(m); server != "" && top != "" {
		out = append(out, Part{FS: "nfs " + server, Root: move.Raw(path.Join(top, rest))})
	}
	if upper := m.Options["upperdir"]; m.Type == "overlay" {
		out = append(out, l.layer(upper, path.Join(m.Root, rest))...)
	}
	return out
}

// lowerMost is how many lower layers of an overlay are looked at: what is told of a source has its bounds,
// and images of containers have a hundred.
const lowerMost = 8

// lower are what a path of an overlay shows as long as nobody has written there: of use to who reads it,
// because what is written to the overlay does not come to lie in them.
func (l *looker) lower(m kernel.MountNode, rest string) (out []Part) {
	if m.Type != "overlay" {
		return nil
	}
	const colon = "\x00" // in a name; no path has this byte
	list := strings.ReplaceAll(m.Options["lowerdir"], `\:`, colon)
	dirs := strings.Split(list, ":")
	for _, dir := range dirs[:min(len(dirs), lowerMost)] {
		out = append(out, l.layer(strings.ReplaceAll(dir, colon, ":"), path.Join(m.Root, rest))...)
	}
	return out
}

// layersMost is how deep overlays lie in overlays that are looked at: the name of a layer may also lead into the
// overlay itself, which may lie over it.
const layersMost = 4

// layer are a path of an overlay as a directory of the file system that one layer is of; none where the
// layer is not to be reached by its name, as from within a container.
func (l *looker) layer(dir, rest string) []Part {
	if !path.IsAbs(dir) || l.layers == layersMost {
		return nil
	}
	l.layers++
	defer func() { l.layers-- }()
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }() // only looked at
	m, known := l.mountOf(fd)
	top, is := below(m.Point, realOf(fd))
	if !known || !is {
		return nil
	}
	return l.parts(m, path.Join(top, rest))
}

// realOf is the path without links of an open directory, as this process sees it; "": not known.
func realOf(fd int) string {
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil || !path.IsAbs(real) {
		return ""
	}
	return real
}

// served is the path on its server that an NFS mount shows at its point, also where it is bound from
// another one: its source tells it, and its root always is "/". "" where it is of another kind.
func served(m kernel.MountNode) string {
	if _, dir, ok := strings.Cut(m.Source, ":/"); ok && strings.HasPrefix(m.Type, "nfs") {
		return path.Clean("/" + dir)
	}
	return ""
}

// below are the mounts below a path of a mount, which a walk from there comes to.
func (l *looker) below(top kernel.MountNode, at string) (out []Part) {
	reached := map[int]bool{top.ID: true}
	points := l.points()
	for again := true; again; {
		again = false
		for _, m := range l.order {
			rest, is := below(at, m.Point)
			if !is || rest == "" || !reached[m.Parent] || reached[m.ID] || hidden(m, points) {
				continue
			}
			reached[m.ID], again = true, true
			if points[mountPoint{m.ID, m.Point}] {
				continue // another one lies over all of it
			}
			for _, p := range l.parts(m, "") {
				p.At = move.Raw(rest)
				out = append(out, p)
			}
			out[len(out)-1].Shared = l.bottom(m)
		}
	}
	return out
}

// mountPoint is a directory of a mount on which another one lies.
type mountPoint struct {
	on  int
	dir string
}

func (l *looker) points() map[mountPoint]bool {
	out := map[mountPoint]bool{}
	for _, m := range l.order {
		if m.ID != m.Parent {
			out[mountPoint{m.Parent, m.Point}] = true
		}
	}
	return out
}

// hidden tells whether a mount lies on the same one as another does that is mounted over a directory above:
// no walk comes to it, nor to what lies on it. One over the other's own point lies on that.
func hidden(m kernel.MountNode, points map[mountPoint]bool) bool {
	for dir := m.Point; dir != "/"; {
		if dir = path.Dir(dir); points[mountPoint{m.Parent, dir}] {
			return true
		}
	}
	return false
}
