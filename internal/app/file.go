package app

import "linerate/internal/kernel"

// ReadFile reads a file that the user named, of at most so many bytes: a pipe is read too, and
// neither one into which nobody writes nor a device holds linerate up (kernel.ReadNamed).
func ReadFile(path string, most int64) ([]byte, error) { return kernel.ReadNamed(path, most) }
