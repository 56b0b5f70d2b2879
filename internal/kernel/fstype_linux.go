package kernel

import (
	"path/filepath"
	"slices"

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
