//go:build unix

package mover

import "golang.org/x/sys/unix"

// plainModes has files made with the modes that they are given, up to what most have: by ssh a mover is
// started with a mask that takes group and others everything, and each file would be given its mode
// a second time.
func plainModes() { unix.Umask(0o022) }
