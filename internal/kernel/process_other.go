//go:build !windows

package kernel

import (
	"errors"
	"fmt"
	"runtime"
)

// ProcessBegan tells when a process of this host began: in clock ticks since boot, by /proc. With it a
// process is told from a later one of the same number. fs.ErrNotExist: there is none, or it has ended.
func ProcessBegan(pid int) (uint64, error) { return ProcessStart("/proc", pid) }

// ProcessFamily fails: only on Windows processes are looked up like that. See Family.
func ProcessFamily(int) ([]int, error) {
	return nil, fmt.Errorf("list processes: unsupported on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
