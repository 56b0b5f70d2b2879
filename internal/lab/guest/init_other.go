//go:build !linux

package guest

import (
	"fmt"
	"os"
)

// InitRole is the hidden subcommand that a host's kernel starts as its first
// process.
const InitRole = "lab-init"

// InitMain is unsupported on this system.
func InitMain([]string, func(string) string) int {
	fmt.Fprintln(os.Stderr, InitRole+": labs are for Linux only")
	return 1
}
