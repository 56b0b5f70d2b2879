package deadman

import (
	"fmt"
	"os"
	"syscall"
)

// ownSession keeps what ends the console of the agent from ending the watcher.
func ownSession() *syscall.SysProcAttr {
	const detachedProcess = 0x00000008
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}

// alive asks the kernel for the process: one that spoke and died is no watcher.
func alive(pid int) error {
	p, err := os.FindProcess(pid) // opens it, which fails when it is gone
	if err != nil {
		return fmt.Errorf("start a watcher: it is gone already: %w", err)
	}
	return p.Release()
}
