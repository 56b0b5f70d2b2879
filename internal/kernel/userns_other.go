//go:build !linux

package kernel

import (
	"os"
	"os/exec"
)

// HasNetAdmin is unsupported on this system.
func HasNetAdmin() (bool, error) { return false, noNamespaces("read capabilities") }

// RunInUserNamespace is unsupported on this system.
func RunInUserNamespace(*exec.Cmd, <-chan os.Signal) error {
	return noNamespaces("make user namespace")
}

// PrivateDir is unsupported on this system.
func PrivateDir(string) error { return noNamespaces("make private directory") }

// OwnedByMe is unsupported on this system: nothing counts as owned.
func OwnedByMe(string) bool { return false }
