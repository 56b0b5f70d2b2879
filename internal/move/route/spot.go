package route

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/tree"
)

// Spot is a directory by signs that do not depend on its host's name or on its own: another end
// can tell by them whether two directories are one, or whether one lies in the other. What looks
// alike but is not known to be the same has no sign in common.
type Spot struct {
	Name move.Raw `json:"name"`          // for people: what is copied
	Own  move.Raw `json:"own,omitempty"` // the name with which globs of exclusions begin there
	// File tells that a single entry in the directory is copied, which is none itself.
	File bool `json:"file,omitempty"`
	// Kernel is the boot id of the host's kernel: Nodes, FS and Below mean the same wherever it is
	// the same.
	Kernel string   `json:"kernel,omitempty"`
	Path   move.Raw `json:"path,omitempty"` // without links, as this process sees it
	// Nodes are device and inode of the directory, then of each one above it.
	Nodes []string `json:"nodes,omitempty"`
	// Shared are, on a mount of another host's file system, what that host knows the same
	// directories by, up to the mount's; "": not known.
	Shared []string `json:"shared,omitempty"`
	Parts  []Part   `json:"parts,omitempty"` // of file systems that it is; none: not known
	Below  []Part   `json:"below,omitempty"` // mounts below it
}

// Part is a directory of a file system. One directory may be several: of the file system of its mount,
// and of what that keeps its files in.
type Part struct {
	FS     string   `json:"fs,omitempty"`
	Root   move.Raw `json:"root,omitempty"`   // its path in the file system
	At     move.Raw `json:"at,omitempty"`     // where it lies below the Spot; "": it is the Spot's own
	Shared string   `json:"shared,omitempty"` // as the first of Spot.Shared, of a mount below
}

// Landing is where sources come to lie.
type Landing struct {
	Name string
	At   Spot   // the deepest directory of the target that is there
	Rest string // what is to be made below it
	Into []Into // directories that are there and are to be as a source has them
}

// Into is what a source's directory comes to lie in.
type Into struct {
	As string // below the target
	Spot
}

// within is where a directory lies in another one.
type within struct {
	rel   string // the path from the outer one; "": it is the outer one itself
	known bool   // else it lies in the outer one, at a path that its kernel does not tell
	sign  string // what a server calls the outer one at both ends; "": a kernel tells
}

// holds tells whether a directory is s or lies in it, and where. One kernel may have one file system of a
// server mounted twice, each by inodes of its own: what the server tells counts there too.
func (s *Spot) holds(t *Spot) (at within, is bool) {
	if s.Kernel != "" && s.Kernel == t.Kernel {
		if at, is := above(s.Nodes, t.Nodes, string(t.Path)); is {
			return at, true
		}
		for _, p := range slices.Concat(s.Parts, s.Below) {
			for _, q := range t.Parts {
				if rest, is := below(string(p.Root), string(q.Root)); is && p.FS == q.FS {
					return within{rel: path.Join(string(p.At), rest), known: true}, true
				}
			}
		}
	}
	if at, is := above(s.Shared, t.Shared, string(t.Path)); is {
		at.sign = s.Shared[0]
		return at, true
	}
	for _, p := range s.Below {
		if at, is := above([]string{p.Shared}, t.Shared, string(t.Path)); is {
			return within{path.Join(string(p.At), at.rel), at.known, p.Shared}, true
		}
	}
	return within{}, false
}

// above looks for the first of one chain of directories in another, and for the path from there
// down to where the other begins, which is the end of name ("": not known).
func above(s, t []string, name string) (at within, is bool) {
	if len(s) == 0 || s[0] == "" {
		return within{}, false
	}
	i := slices.Index(t, s[0])
	if i < 0 {
		return within{}, false
	}
	names := strings.Split(strings.Trim(name, "/"), "/")
	if i > 0 && name == "" || i > len(names) {
		return within{}, true
	}
	return within{rel: path.Join(names[len(names)-i:]...), known: true}, true
}

// below tells whether path is top or below it, and where.
func below(top, at string) (rest string, is bool) {
	if top == at {
		return "", true
	}
	return strings.CutPrefix(at, strings.TrimSuffix(top, "/")+"/")
}

// OneKernel notes that all of it is on one host, also where that does not tell its boot id, as without /proc.
func (l *Landing) OneKernel(from []Spot) {
	const here = "here"
	l.At.Kernel = here
	for i := range from {
		from[i].Kernel = here
	}
	for i := range l.Into {
		l.Into[i].Kernel = here
	}
}

// Apart refuses a target inside a source, which would be copied into itself, a source that is its
// own target, and, if deletes, a source inside a directory that is emptied of what the source
// lacks. Not where exclusions keep the one out of the other. An error is of kind failure.Usage.
func (l *Landing) Apart(from []Spot, deletes bool, exclude []string) error {
	x, err := tree.NewExcludes(exclude)
	if err != nil {
		return failure.As(failure.Usage, err)
	}
	for i := range from {
		s := &from[i]
		if err := l.outside(s, x); err != nil {
			return err
		}
		for j := range l.Into {
			if !deletes {
				break
			}
			if err := l.spares(&l.Into[j], s, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// spares refuses to empty d of what the source lacks where a source lies in it, or where a mount below it
// shows a part of one. Not where that is at the same place in both, from where nothing goes.
func (l *Landing) spares(d *Into, s *Spot, x tree.Excludes) error {
	if at, is := d.holds(s); is && !leftOut(x, d.As, at, "") {
		return failure.Of(failure.Usage, "the source %s lies in the target%s, and would be deleted there; nothing was deleted: copy to a directory that does not hold it%s", s.Name, d.named(at), l.otherwise(s, at))
	}
	for _, p := range d.Below {
		there := within{rel: string(p.At), known: true}
		at, is := s.holds(&Spot{Kernel: d.Kernel, Parts: []Part{{FS: p.FS, Root: p.Root}}, Shared: []string{p.Shared}})
		if !is || at.rel == there.rel || s.File && at.rel != "" || leftOut(x, d.As, there, "") || leftOut(x, string(s.Own), at, "") {
			continue
		}
		return failure.Of(failure.Usage, "a mount in the target%s, shows what lies in the source %s, and what is not copied there would be deleted of it; nothing was deleted: leave it out, or unmount it%s", d.named(there), s.Name, l.otherwise(s, at))
	}
	return nil
}

// named tells where in the target something lies.
func (d *Into) named(at within) string {
	if !at.known {
		return ""
	}
	return ", at " + move.Quote("./"+path.Join(d.As, at.rel))
}

// outside refuses a target inside one source.
func (l *Landing) outside(s *Spot, x tree.Excludes) error {
	if s.File {
		return nil
	}
	if at, is := s.holds(&l.At); is && !leftOut(x, string(s.Own), at, l.Rest) {
		return failure.Of(failure.Usage, "target %s lies in the source %s: it would be copied into itself%s", l.Name, s.Name, l.otherwise(s, at))
	}
	for i := range l.Into {
		at, is := s.holds(&l.Into[i].Spot)
		if is && at.known && at.rel == "" {
			return failure.Of(failure.Usage, "source %s and target are the same directory%s", s.Name, l.otherwise(s, at))
		}
		if is && !leftOut(x, string(s.Own), at, "") {
			return failure.Of(failure.Usage, "%s in target %s lies in the source %s: it would be copied into itself%s", move.Quote("./"+l.Into[i].As), l.Name, s.Name, l.otherwise(s, at))
		}
	}
	return nil
}

// otherwise says what names do not show: what was compared, and the way on for whom it deceives.
func (l *Landing) otherwise(s *Spot, at within) string {
	if f := strings.Fields(at.sign); len(f) > 1 {
		same := "file handle"
		if f[0] == "smb" {
			same = "volume, inode and time of birth"
		}
		return fmt.Sprintf(" (the server %s gives both the same %s; if they are two, as of clones, name the source by another mount, or on the server itself)", f[1], same)
	}
	a, b := path.Clean(string(s.Name)), path.Clean(l.Name)
	if _, is := below(a, b); is {
		return ""
	}
	if _, is := below(b, a); is {
		return ""
	}
	return " (both names lead to one file system)"
}

// leftOut tells whether exclusions match rest of a directory that lies in a source, or a directory above
// it. own is the name that globs begin with there. Nothing is known to match a path that is not known.
func leftOut(x tree.Excludes, own string, in within, rest string) bool {
	rel := path.Join(in.rel, rest)
	at := strings.Trim(own+"/"+rel, "/")
	if rel == "" || !in.known {
		return false
	}
	for i := range len(at) {
		if at[i] == '/' && x.Match(at[:i], true) {
			return true
		}
	}
	return x.Match(at, true)
}
