//go:build !unix

package mover

// plainModes: there are no masks here.
func plainModes() {}
