//go:build !linux

package kernel

// OverNetwork is not told on this system.
func OverNetwork(string) bool { return false }

// StartsNoPrograms is not told on this system.
func StartsNoPrograms(string) bool { return false }
