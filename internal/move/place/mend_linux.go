package place

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// mend sets the metadata of what was there before, where they are not its source's, and counts it if any of
// them is right then: what a file system does not keep is reported, each time. Where all are, nothing is set: each setting would move ctime, by which backups know what was changed.
func (p *Place) mend(fd int, e *move.Entry) {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW); err != nil {
		p.report.Lose(move.LostMode, e.Path, "look at it: %v", err)
		return
	}
	// Attributes are asked for last: on a mount each question is a request, and describe asks again.
	late, rights, attributes := e.Kind != move.Directory && !sameTime(st.Mtim, e.Mtime), p.rightsAmiss(e, &st), 0
	if !late && len(rights) == 0 {
		attributes = len(p.attributesAmiss(procOf(fd), e))
	}
	amiss := late || len(rights) > 0 || attributes > 0
	if !amiss && st.Mtim == (unix.Timespec{Sec: e.Mtime.Sec, Nsec: e.Mtime.Nsec}) {
		p.modeOf(e)
		return
	}
	p.describe(fd, e)
	if !amiss || e.Kind == move.Directory && p.journal != nil && p.journal.resumed {
		return // one that a copy which was stopped has made is not its own yet
	}
	if err := unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return // describe has reported it
	}
	if late && sameTime(st.Mtim, e.Mtime) || len(p.rightsAmiss(e, &st)) < len(rights) ||
		attributes > 0 && len(p.attributesAmiss(procOf(fd), e)) < attributes {
		p.report.Count(func(s *move.Summary) { s.Mended++ })
	}
}

// modeOf is the mode that an entry gets, which may not be its source's; that is reported.
func (p *Place) modeOf(e *move.Entry) uint32 {
	mode := p.wantedMode(e)
	if mode != e.Mode {
		p.report.Lose(move.LostSetuid, e.Path, "mode %04o", e.Mode)
	}
	return mode
}

func (p *Place) wantedMode(e *move.Entry) uint32 {
	if e.Kind == move.File && !p.o.Setuid {
		return e.Mode &^ 0o6000
	}
	return e.Mode
}

// rightsAmiss says which of owner and mode of what is there are not the source's.
func (p *Place) rightsAmiss(e *move.Entry, st *unix.Stat_t) (out []string) {
	if st.Uid != e.UID || st.Gid != e.GID {
		out = append(out, fmt.Sprintf("owner %d:%d, was %d:%d", e.UID, e.GID, st.Uid, st.Gid))
	}
	if mode := p.wantedMode(e); e.Kind != move.Symlink && st.Mode&0o7777 != mode {
		out = append(out, fmt.Sprintf("mode %04o, was %04o", mode, st.Mode&0o7777))
	}
	return out
}

// attributesAmiss says which of its extended attributes are to be set or removed; proc is a name of it.
func (p *Place) attributesAmiss(proc string, e *move.Entry) (out []string) {
	want := map[string]bool{}
	for _, x := range e.Xattrs {
		want[x.Name] = true
		if !holds(proc, x) {
			out = append(out, "set "+move.Quote(x.Name))
		}
	}
	for _, name := range p.present(proc) {
		if !want[name] && isOurs(name) {
			out = append(out, "remove "+move.Quote(name))
		}
	}
	return out
}

// holds tells whether an attribute is there as it is to be.
func holds(proc string, x move.Xattr) bool {
	old := make([]byte, len(x.Value)+1)
	n, err := unix.Getxattr(proc, x.Name, old)
	return err == nil && bytes.Equal(old[:n], x.Value)
}

// Amiss says what a copy would set of what has the name of an entry that it finds the same.
func (p *Place) Amiss(e *move.Entry) ([]string, error) {
	fd, err := p.standing(e.Path)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	out := append(p.rightsAmiss(e, &st), p.attributesAmiss(procOf(fd), e)...)
	if e.Kind != move.Directory && !sameTime(st.Mtim, e.Mtime) {
		out = append(out, "time")
	}
	return out, unix.Close(fd)
}

// standing opens what is at a path as a name alone; of the root, as what it is.
func (p *Place) standing(path string) (int, error) {
	if path == "" {
		return unix.FcntlInt(uintptr(p.root), unix.F_DUPFD_CLOEXEC, 0)
	}
	d, name, err := p.parent(path)
	if err != nil {
		return -1, err
	}
	defer p.release(d)
	return unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}
