//go:build !linux

package load

import (
	"errors"
	"fmt"
	"runtime"
)

// zeroCopies has nothing to count here.
type zeroCopies struct{ sent, done, copied int64 }

func (w *wire) askZeroCopy() error {
	return fmt.Errorf("send without a copy: unsupported on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (w *wire) sendZero(b []byte, _ *zeroCopies) (int, error) { return w.send(b) }
func (w *wire) completions(*zeroCopies) error                 { return nil }
