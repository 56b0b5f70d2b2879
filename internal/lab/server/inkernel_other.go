//go:build !linux

package server

import (
	"context"
	"fmt"
	"io"
)

// KernelMain is unsupported on this system.
func KernelMain(_ context.Context, _ []string, stderr io.Writer) int {
	fmt.Fprintln(stderr, "serve from the kernel: labs are for Linux only")
	return 1
}
