package kernel

import "errors"

// ErrLocked: another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("locked by another process")
