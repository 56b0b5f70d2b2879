//go:build !linux

package kernel

import "os"

// SocketPair is unsupported on this system.
func SocketPair() (near, far *os.File, err error) { return nil, nil, noNamespaces("make cable") }

// AddTap is unsupported on this system.
func AddTap(string, int) error { return noNamespaces("make tap") }

// RenameInterface is unsupported on this system.
func RenameInterface(string, string) error { return noNamespaces("rename interface") }

// Confine is unsupported on this system.
func Confine(string, string) error { return noNamespaces("make mounts of its own") }
