//go:build !linux

package kernel

// InterfaceNode is known on Linux alone.
func InterfaceNode(Root, Link) uint64 { return 0 }
