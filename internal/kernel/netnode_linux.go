package kernel

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// InterfaceNode is the number of an interface's directory in sysfs, 0 where it is not known. The
// kernel gives each directory that it makes another one until it restarts: the number stays when
// an interface is renamed or gets another address, and one that was made anew has another, also
// where it has index, name and address of the one that is gone.
func InterfaceNode(r Root, l Link) uint64 {
	dir := "/sys/class/net/" + l.Name
	b, err := r.ReadFile(dir + "/ifindex")
	if err != nil || strings.TrimSpace(string(b)) != strconv.Itoa(l.Index) {
		return 0 // sysfs of another network namespace, or none
	}
	info, err := os.Stat(r.Path(dir))
	if err != nil {
		return 0
	}
	return inode(info)
}

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
