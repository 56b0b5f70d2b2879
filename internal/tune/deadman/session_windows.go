package deadman

import (
	"fmt"
	"os"
	"syscall"
)

// ownSession protects the watcher from the end of the agent's console.
func ownSession() *syscall.SysProcAttr {
	const detachedProcess = 0x00000008
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP | detachedProcess}
}

// alive asks the kernel whether the process exists, since a watcher may have reported and died.
func alive(pid int) error {
	p, err := os.FindProcess(pid) // opens it, which fails when it is gone
	if err != nil {
		return fmt.Errorf("start a watcher: it is gone already: %w", err)
	}
	return p.Release()
}
