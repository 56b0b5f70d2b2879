package kernel

import "errors"

// ErrLocked: another process, or another part of this one, has the lock.
var ErrLocked = errors.New("locked by somebody else")
