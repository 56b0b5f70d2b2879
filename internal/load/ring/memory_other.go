//go:build !linux && !windows

package ring

// Memory makes buffers.
func Memory(size int) ([]byte, error) { return make([]byte, size), nil }

// Free returns what Memory made.
func Free([]byte) error { return nil }
