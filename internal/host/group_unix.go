//go:build unix

package host

import "syscall"

// ownGroup is what makes a process the leader of a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
