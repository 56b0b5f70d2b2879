//go:build !linux

package kernel

import (
	"io"
	"os"
)

// readFile reads a whole file of at most most bytes, and tells whether there was more.
func readFile(path string, most int) (b []byte, more bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close() // the file was only read: a failed close loses nothing
	if b, err = io.ReadAll(io.LimitReader(f, int64(most)+1)); err != nil {
		return nil, false, err
	}
	return b, len(b) > most, nil
}
