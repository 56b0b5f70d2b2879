package place

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// describe sets the metadata of the entry that fd refers to (fd may be of O_PATH), reads them
// back, and reports what was not kept. The order matters: a change of owner clears set-ID bits
// and capabilities, an extended attribute needs the mode with which its entry was made, and
// every other change would move the time.
func (p *Place) describe(fd int, e *move.Entry) { _ = p.describeIn(fd, e, nil) }

// describeIn describes a file that was just made in a directory; nil: it may be an older one.
// What is known without asking is not asked, and what is right is not set: on a mount each
// takes a round trip. It tells whether the time was set, which comes last.
func (p *Place) describeIn(fd int, e *move.Entry, made *dir) (timely bool) {
	proc := procOf(fd)
	found, stripped := false, made != nil && made.hands.Load() == handsNothing
	if made != nil && !made.needsMore.Load() && len(e.Xattrs) == 0 && p.ours(e) {
		if !stripped {
			found, stripped = p.stripMade(proc, e, made), true
		}
		if !found && p.onlyTimed(fd, e) {
			return true
		}
		made.needsMore.Store(true)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW); err != nil {
		p.report.Lose(move.LostMode, e.Path, "look at it: %v", err)
		return false
	}
	var why [3]error // of owner, mode, mtime
	given := st.Uid != e.UID || st.Gid != e.GID
	if given {
		why[0] = p.chown(fd, e)
	}
	if !stripped {
		found = p.stripMade(proc, e, made)
	}
	p.attributes(proc, e)
	mode := p.modeOf(e)
	// A new owner clears set-ID bits, and an ACL is part of the mode.
	right := (made != nil || e.Kind == move.Directory) && st.Mode&0o7777 == mode && !given && !found && len(e.Xattrs) == 0
	if e.Kind != move.Symlink && !right {
		if why[1] = unix.Fchmod(fd, mode); errors.Is(why[1], unix.EBADF) { // O_PATH
			why[1] = unix.Chmod(proc, mode)
		}
	}
	if why[2] = timed(fd, e); errors.Is(why[2], unix.EINVAL) || errors.Is(why[2], unix.ENOENT) {
		why[2] = unix.UtimesNanoAt(unix.AT_FDCWD, proc, times(e), 0) // before Linux 5.8
	}
	p.compare(fd, e, mode, why)
	return why[2] == nil
}

// procOf is a name of what a descriptor refers to.
func procOf(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// stripMade strips an entry, and notes of the directory in which it was made, unless that is nil,
// that it hands nothing down.
func (p *Place) stripMade(proc string, e *move.Entry, made *dir) (found bool) {
	if found = p.strip(proc, e); made != nil && !found {
		made.hands.Store(handsNothing)
	}
	return found
}

// ours tells whether an entry belongs to this process's user and group, as what it makes does.
func (p *Place) ours(e *move.Entry) bool { return e.UID == p.uid && e.GID == p.gid }

// onlyTimed gives a file that was just made its time, and tells whether that is all that it needed.
func (p *Place) onlyTimed(fd int, e *move.Entry) bool {
	var st unix.Stat_t
	if timed(fd, e) != nil || unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW) != nil {
		return false
	}
	return st.Uid == e.UID && st.Gid == e.GID && st.Mode&0o7777 == e.Mode && st.Mtim.Sec == e.Mtime.Sec && st.Mtim.Nsec == e.Mtime.Nsec
}

// timed sets the time of a descriptor.
func timed(fd int, e *move.Entry) error {
	return unix.UtimesNanoAt(fd, "", times(e), unix.AT_EMPTY_PATH)
}

// times are those of an entry as utimensat takes them: of access, which stays, and of change.
func times(e *move.Entry) []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, {Sec: e.Mtime.Sec, Nsec: e.Mtime.Nsec}}
}

// compare reads metadata back: what a file system took without an error it need not keep.
func (p *Place) compare(fd int, e *move.Entry, mode uint32, why [3]error) {
	var st unix.Stat_t
	if err := unix.Fstatat(fd, "", &st, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW); err != nil {
		p.report.Lose(move.LostMode, e.Path, "look at it again: %v", err)
		return
	}
	lose := func(what string, err error, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if err != nil {
			text += ": " + err.Error()
		}
		p.report.Lose(what, e.Path, "%s", text)
	}
	if st.Uid != e.UID || st.Gid != e.GID {
		lose(move.LostOwner, why[0], "%d:%d instead of %d:%d", st.Uid, st.Gid, e.UID, e.GID)
	}
	if e.Kind != move.Symlink && st.Mode&0o7777 != mode {
		lose(move.LostMode, why[1], "%04o instead of %04o", st.Mode&0o7777, mode)
	}
	if st.Mtim.Sec != e.Mtime.Sec || st.Mtim.Nsec != e.Mtime.Nsec {
		lose(move.LostMtime, why[2], "%d.%09d instead of %d.%09d", st.Mtim.Sec, st.Mtim.Nsec, e.Mtime.Sec, e.Mtime.Nsec)
	}
}

// chown sets owner and group, or the group alone where the owner may not be given away.
func (p *Place) chown(fd int, e *move.Entry) error {
	err := unix.Fchownat(fd, "", int(e.UID), int(e.GID), unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EPERM) {
		_ = unix.Fchownat(fd, "", -1, int(e.GID), unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW) // the owner's loss is reported
	}
	return err
}

// strip removes the extended attributes, ACLs among them, that the source does not have: what
// a directory hands down to its files, what an older copy had. found: there were some of
// which that might be.
func (p *Place) strip(proc string, e *move.Entry) (found bool) {
	want := map[string]bool{}
	for _, x := range e.Xattrs {
		want[x.Name] = true
	}
	for _, name := range p.present(proc) {
		found = found || isOurs(name)
		if want[name] || !isOurs(name) {
			continue
		}
		if err := unix.Removexattr(proc, name); err != nil && !errors.Is(err, unix.ENODATA) {
			p.report.Lose(lostXattr(name), e.Path, "remove %s, which the source does not have: %v", move.Quote(name), err)
		}
	}
	return found
}

// isOurs tells whether an attribute is one that a copy removes where the source does not have it: rights among
// them, but no label that the target gives by itself.
func isOurs(name string) bool {
	return name == "security.capability" || strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_")
}

// attributes sets extended attributes, ACLs among them.
func (p *Place) attributes(proc string, e *move.Entry) {
	for _, x := range e.Xattrs {
		if holds(proc, x) {
			continue // a label that the target gives by itself
		}
		if err := unix.Setxattr(proc, x.Name, x.Value, 0); err != nil {
			p.report.Lose(lostXattr(x.Name), e.Path, "set %s: %v", move.Quote(x.Name), err)
		}
	}
}

// present lists the attributes that are there; what cannot be listed is taken as none.
func (p *Place) present(proc string) []string {
	b := make([]byte, 1024)
	n, err := unix.Listxattr(proc, b)
	if errors.Is(err, unix.ERANGE) {
		b = make([]byte, move.MaxValue)
		n, err = unix.Listxattr(proc, b)
	}
	if err != nil || n == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b[:n]), "\x00"), "\x00")
}

// lostXattr is what the loss of an attribute is counted as.
func lostXattr(name string) string {
	switch {
	case strings.HasPrefix(name, "system.posix_acl_") || name == "system.nfs4_acl" || name == "system.richacl" || name == "system.cifs_acl":
		return move.LostACL
	case strings.HasPrefix(name, "security."):
		return move.LostSecurity
	}
	return move.LostXattr
}
