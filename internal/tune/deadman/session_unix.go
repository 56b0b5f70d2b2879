//go:build unix

package deadman

import (
	"fmt"
	"os"
	"syscall"
)

// ownSession protects the watcher from the end of the agent's session.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// alive asks the kernel whether the process exists, since a watcher may have reported and died.
func alive(pid int) error {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.Signal(0))
	}
	if err != nil {
		return fmt.Errorf("start a watcher: it is gone already: %w", err)
	}
	return nil
}
