//go:build unix

package deadman

import (
	"fmt"
	"os"
	"syscall"
)

// ownSession keeps what ends the session of the agent from ending the watcher.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// alive asks the kernel for the process: one that spoke and died is no watcher.
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
