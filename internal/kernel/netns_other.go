//go:build !linux

package kernel

import (
	"fmt"
	"os/exec"
	"runtime"
)

func noNamespaces(what string) error {
	return fmt.Errorf("%s: unsupported on %s: namespaces exist on Linux only", what, runtime.GOOS)
}

// InNewNamespaces is unsupported on this system: it leaves cmd as it is, and
// the functions that the process would call there return errors.
func InNewNamespaces(*exec.Cmd, Namespaces) {}

// Detach is unsupported on this system: it leaves cmd as it is.
func Detach(*exec.Cmd) {}

// SetHostname is unsupported on this system.
func SetHostname(string) error { return noNamespaces("set host name") }

// MountOwnSys is unsupported on this system.
func MountOwnSys() error { return noNamespaces("mount /sys") }

// JoinNamespaces is unsupported on this system.
func JoinNamespaces(int, uint64) error { return noNamespaces("enter namespaces") }

// JoinNetwork is unsupported on this system.
func JoinNetwork(int, uint64) error { return noNamespaces("enter network namespace") }

// Replace is unsupported on this system.
func Replace([]string, []string) error { return noNamespaces("replace process") }

// EndGroup is unsupported on this system.
func EndGroup(int) error { return noNamespaces("end process group") }

// KillProcess is unsupported on this system.
func KillProcess(int, uint64) error { return noNamespaces("end process") }
