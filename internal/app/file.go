package app

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file that the user named, of at most so many bytes: a pipe is read too, and
// of one that never ends, or of a device, no more is kept.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read: a close that fails loses nothing
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("read %s: it has more than %d KiB, the most that is read of such a file", path, most>>10)
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}
