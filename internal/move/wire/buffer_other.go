//go:build !linux

package wire

// newBuffer is memory for the data of one frame.
func newBuffer() []byte { return make([]byte, MaxData) }
