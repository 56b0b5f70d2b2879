package kernel

import "errors"

// ErrLocked is that another process holds the lock of a file.
var ErrLocked = errors.New("another process holds the lock")
