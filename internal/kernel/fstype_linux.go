package kernel

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// overNetwork are the file systems that read from another host, or through a process that may
// (statfs(2)).
var overNetwork = []int64{
	unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC,
	unix.V9FS_MAGIC, unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.NCP_SUPER_MAGIC,
	0x0BD00BD0, // Lustre
	0x01161970, // GFS2
	0x47504653, // GPFS
	0x19830326, // BeeGFS
	0x013111A8, // IBRIX
}

// OverNetwork tells whether a file is on a file system that other hosts, or a process, serve;
// false where that cannot be told.
func OverNetwork(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && isOverNetwork(int64(st.Type))
}

func isOverNetwork(magic int64) bool { return slices.Contains(overNetwork, magic&0xFFFFFFFF) }

// onDisks are the file systems that read from this host's disks or memory; overlayfs does where its
// layers do, of which statfs does not tell.
var onDisks = []int64{
	unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC,
	0x2FC12FC1, // ZFS
}

// OnDisk tells whether an open file is on a file system that is known to read from this host's disks
// or memory.
func OnDisk(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && slices.Contains(onDisks, int64(st.Type)&0xFFFFFFFF)
}

// StartsNoPrograms tells whether a directory, or the nearest that is there above it, is on a file
// system that is mounted noexec; false where that cannot be told.
func StartsNoPrograms(dir string) bool {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(dir, &st)
		if err == nil {
			return st.Flags&unix.ST_NOEXEC != 0
		}
		up := filepath.Dir(dir)
		if up == dir || err != unix.ENOENT {
			return false
		}
		dir = up
	}
}

// servers are the types of file systems on NFS and SMB servers by the names that the kernel has for them.
var servers = map[string]int64{
	"nfs": unix.NFS_SUPER_MAGIC, "nfs4": unix.NFS_SUPER_MAGIC, "cifs": unix.CIFS_SUPER_MAGIC, "smb3": unix.SMB2_SUPER_MAGIC,
}

// TypeOf is the type of the file system on which an open file lies, as statfs(2) numbers them; 0: not told. Of a
// mount of NFS or SMB statfs asks the server, and the kernel's table of mounts does not.
func TypeOf(fd int) int64 {
	info, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd))
	if err == nil {
		table, _ := os.ReadFile("/proc/self/mountinfo") // else statfs tells
		if magic, ok := servers[mountType(info, table)]; ok {
			return magic
		}
	}
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return 0
	}
	return int64(uint32(st.Type))
}

// mountType is the name of the type of the mount that proc_pid_fdinfo(5) tells a file to lie on, by
// proc_pid_mountinfo(5), of which one line is parsed, however many mounts there are; "": not told.
func mountType(fdinfo, mountinfo []byte) string {
	id := ""
	for line := range bytes.Lines(fdinfo) {
		if rest, ok := strings.CutPrefix(string(line), "mnt_id:"); ok {
			id = strings.TrimSpace(rest)
		}
	}
	for line := range bytes.Lines(mountinfo) {
		if id == "" || !bytes.HasPrefix(line, []byte(id+" ")) {
			continue
		}
		mounts, err := ParseMountinfo(line)
		if err != nil || len(mounts) != 1 {
			return ""
		}
		return mounts[0].Type
	}
	return ""
}
