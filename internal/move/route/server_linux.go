package route

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
)

// server names the server of a mount, where clients of it have signs of a directory in common; "" where
// not. What is a server to this host only is named as this kernel's.
func (l *looker) server(m kernel.MountNode) string {
	switch m.Type {
	case "nfs", "nfs4", "cifs", "smb3":
	default:
		return ""
	}
	addr, err := netip.ParseAddr(m.Options["addr"])
	switch {
	case err != nil:
		return ""
	case addr.IsLoopback() || addr.IsLinkLocalUnicast():
		if l.kernel == "" {
			return ""
		}
		return addr.String() + " of " + l.kernel
	}
	return addr.String()
}

// answers is how long servers have to tell what a mount below is: a copy that leaves out the mount of a
// server that is gone does not wait for it.
const answers = 2 * time.Second

// bottom is what the server of a mount knows the directory at its point by; "" where it does not tell.
func (l *looker) bottom(m kernel.MountNode) string {
	server := l.server(m)
	if server == "" || l.gone[server] {
		return ""
	}
	told := make(chan string, 1)
	go func() { told <- signOf(m, server) }() // ends when the server answers, or with the process
	select {
	case sign := <-told:
		return sign
	case <-time.After(answers):
		l.gone[server] = true
		return ""
	}
}

func signOf(m kernel.MountNode, server string) string {
	fd, err := unix.Open(m.Point, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return "" // not to be looked at by this user, or a file
	}
	defer func() { _ = unix.Close(fd) }() // only looked at
	st, err := statOf(fd)
	dev := fmt.Sprintf("%d:%d", st.Dev_major, st.Dev_minor)
	if err != nil || dev != m.Dev {
		return "" // another one lies there by now
	}
	if strings.HasPrefix(m.Type, "nfs") {
		return shared(fd, server, "", false, &st)
	}
	return shared(fd, server, volumeOf(fd, m), inSnapshot(m, m.Point), &st)
}

// statOf is what shared asks of an open directory.
func statOf(fd int) (st unix.Statx_t, err error) {
	return st, unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st)
}

// shared is what the server of a mount knows a directory of it by: of NFS its file handle, of SMB volume,
// inode and time of birth.
func shared(fd int, server, volume string, snapshot bool, st *unix.Statx_t) string {
	if volume == "" {
		h, _, err := unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("nfs %s %d %s", server, h.Type(), hex.EncodeToString(h.Bytes()))
	}
	return smbSign(server, volume, snapshot, st)
}

// volumeOf is the volume of an open directory on a mount of SMB, which takes a request.
func volumeOf(fd int, m kernel.MountNode) string {
	var fs unix.Statfs_t
	if unix.Fstatfs(fd, &fs) != nil {
		fs.Fsid = unix.Fsid{} // the share tells the volume then
	}
	return volume(m, fs.Fsid)
}

func smbSign(server, volume string, snapshot bool, st *unix.Statx_t) string {
	if st.Mask&unix.STATX_BTIME == 0 || snapshot {
		return ""
	}
	return fmt.Sprintf("smb %s %s %d %d.%09d", server, volume, st.Ino, st.Btime.Sec, st.Btime.Nsec)
}

// volume names what inodes are unique in: the serial number and time of making of the server's volume, which
// the kernel gives as the file system's (cifs_statfs, fs/smb/client/cifsfs.c), or else the share.
func volume(m kernel.MountNode, fsid unix.Fsid) string {
	if fsid != (unix.Fsid{}) {
		return fmt.Sprintf("%08x%08x", uint32(fsid.Val[0]), uint32(fsid.Val[1]))
	}
	_, share, _ := strings.Cut(strings.TrimPrefix(m.Source, "//"), "/")
	share, _, _ = strings.Cut(share, "/")
	return strings.ToLower(strings.Join(strings.Fields(share), "_"))
}

// inSnapshot tells whether a path of a mount leads into a snapshot by the names that servers give them. What
// lies there has inode and time of birth of what it is a snapshot of, and is not it; nobody writes there.
func inSnapshot(m kernel.MountNode, at string) bool {
	rest, _ := below(m.Point, at)
	for name := range strings.SplitSeq(m.Source+m.Root+"/"+rest, "/") {
		switch name {
		case ".zfs", ".snapshot", "~snapshot", "#snapshot":
			return true
		}
		if strings.HasPrefix(name, "@GMT-") {
			return true
		}
	}
	return false
}
