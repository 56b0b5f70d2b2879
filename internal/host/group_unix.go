//go:build unix

package host

import (
	"io/fs"
	"os"
	"syscall"
)

// ownGroup is what makes a process the leader of a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// ours tells whether a file is this user's; to root everybody's is.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (os.Geteuid() == 0 || int(st.Uid) == os.Geteuid())
}
