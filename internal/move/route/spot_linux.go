package route

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/move"
)

// looker looks at directories; what it could not read of this host is not known of any.
type looker struct {
	kernel string
	mounts map[int]kernel.MountNode
	layers int // of overlays within overlays that are being looked at
	order  []kernel.MountNode
	reads  bool            // what it looks at is a source
	gone   map[string]bool // servers that did not answer
}

func newLooker() *looker {
	l := &looker{mounts: map[int]kernel.MountNode{}, gone: map[string]bool{}}
	if b, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		l.kernel = strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile("/proc/self/mountinfo"); err == nil {
		order, _ := kernel.ParseMountTree(b) // without it directories are known by their inodes alone
		l.take(order)
	}
	return l
}

func (l *looker) take(order []kernel.MountNode) {
	l.order = order
	for _, m := range order {
		l.mounts[m.ID] = m
	}
}

// Spots are where what is copied lies. Single entries of one directory have one Spot.
func (s Source) Spots() ([]Spot, error) {
	l := newLooker()
	l.reads = true
	var out []Spot
	seen := map[string]bool{}
	for i, t := range s.Tops {
		at, name := t.Dir, strings.TrimSuffix(t.Dir, "/")+"/"+t.Name
		if s.Dirs[i] {
			at = name
		} else if seen[at] {
			continue
		} else {
			seen[at] = true
		}
		spot, err := l.look(at, true)
		if err != nil {
			return nil, fmt.Errorf("look at source: %w", err)
		}
		spot.Name, spot.Own, spot.File = move.Raw(Plain(name)), move.Raw(t.Name), !s.Dirs[i]
		out = append(out, spot)
	}
	return out, nil
}

// Landing is where a source comes to lie, of which whole are the directories that are copied.
func (t Target) Landing(whole []string) (out Landing, err error) {
	l, at := newLooker(), t.Root
	out.Name = at
	for {
		out.At, err = l.look(at, true)
		up := Above(at)
		if !errors.Is(err, fs.ErrNotExist) || up == at {
			break
		}
		out.Rest, at = path.Join(path.Base(at), out.Rest), up
	}
	if err != nil || out.Rest != "" {
		return out, wrapped(err)
	}
	for _, as := range whole {
		into := Into{As: as, Spot: out.At}
		if as != "" {
			into.Spot, err = l.look(strings.TrimSuffix(at, "/")+"/"+as, false)
		}
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			continue // no directory, which a copy does not go into
		}
		if err != nil {
			return out, wrapped(err)
		}
		out.Into = append(out.Into, into)
	}
	return out, nil
}

func wrapped(err error) error {
	if err != nil {
		err = fmt.Errorf("look at target: %w", err)
	}
	return err
}

// look looks at a directory.
func (l *looker) look(at string, follow bool) (s Spot, err error) {
	flags := unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(at, flags, 0)
	if err != nil {
		return s, &fs.PathError{Op: "open", Path: at, Err: err}
	}
	s.Kernel = l.kernel
	if s.Path = move.Raw(realOf(fd)); s.Path == "" {
		s.Path = move.Raw(walked(fd, at))
	}
	m, known := l.mountOf(fd)
	if rest, is := below(m.Point, string(s.Path)); known && is && s.Path != "" {
		s.Parts = l.parts(m, rest)
		if l.reads {
			s.Parts = append(s.Parts, l.lower(m, rest)...)
		}
		s.Below = l.below(m, string(s.Path))
	}
	return s, l.climb(fd, m, &s)
}

// walked is the path without links of an open directory, found from the name by which it was opened, as
// where there is no /proc; "" where that leads elsewhere by now.
func walked(fd int, at string) string {
	if !path.IsAbs(at) {
		dir, err := os.Getwd()
		if err != nil {
			return ""
		}
		at = dir + "/" + at // not cleaned: what '..' means after a link is left to the system
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return ""
	}
	var here, there unix.Stat_t
	if unix.Fstat(fd, &here) != nil || unix.Lstat(real, &there) != nil || here.Dev != there.Dev || here.Ino != there.Ino {
		return ""
	}
	return real
}

// climb notes a directory and those above it, and closes fd. Where this user may look no further it
// ends.
func (l *looker) climb(fd int, m kernel.MountNode, s *Spot) error {
	defer func() { _ = unix.Close(fd) }() // only a place to walk from
	at := string(s.Path)
	share, volume := l.server(m), ""
	if share != "" && !strings.HasPrefix(m.Type, "nfs") {
		volume = volumeOf(fd, m)
	}
	for first := true; ; first = false {
		st, err := statOf(fd)
		if err != nil {
			if first {
				return fmt.Errorf("look at %s: %w", s.Path, err)
			}
			return nil
		}
		node := fmt.Sprintf("%d:%d:%d", st.Dev_major, st.Dev_minor, st.Ino)
		if !first && node == s.Nodes[len(s.Nodes)-1] {
			return nil // the root
		}
		s.Nodes = append(s.Nodes, node)
		if share != "" && !first {
			on, known := l.mountOf(fd)
			if !known || on.ID != m.ID {
				share = ""
			}
		}
		if share != "" {
			s.Shared = append(s.Shared, shared(fd, share, volume, inSnapshot(m, at), &st))
		}
		up, err := unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil // this user may look no further
		}
		_ = unix.Close(fd)
		fd, at = up, path.Dir(at)
	}
}

// mountOf is the mount that an open file is on.
func (l *looker) mountOf(fd int) (kernel.MountNode, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", fd))
	if err != nil {
		return kernel.MountNode{}, false
	}
	_, rest, _ := strings.Cut(string(b), "mnt_id:")
	var id int
	if _, err := fmt.Sscan(rest, &id); err != nil {
		return kernel.MountNode{}, false
	}
	m, ok := l.mounts[id]
	return m, ok
}
