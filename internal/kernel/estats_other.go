//go:build !windows

package kernel

import (
	"errors"
	"fmt"
	"runtime"
)

// OwnEstats fails: only Windows has them.
func OwnEstats() (Estats, error) {
	return nil, fmt.Errorf("read TCP statistics: unsupported on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}
