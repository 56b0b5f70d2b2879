//go:build !linux

package guest

import (
	"context"
	"fmt"
	"os"
)

// InitRole is the hidden subcommand that a host's kernel starts as its first
// process.
const InitRole = "lab-init"

// Device is how a device host gets its root and its cable.
type Device struct {
	EnterRoot func() error
	Open      func(ctx context.Context) (*os.File, error)
}

// InitMain is unsupported on this system.
func InitMain([]string, func(string) string, Device) int {
	fmt.Fprintln(os.Stderr, InitRole+": labs are for Linux only")
	return 1
}
