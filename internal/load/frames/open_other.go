//go:build !linux

package frames

import (
	"errors"
	"os"
)

// forget is not to be had here.
func forget(*os.File) error { return errors.New("this system is not asked to drop its page cache") }
