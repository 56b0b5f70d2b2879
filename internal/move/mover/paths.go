package mover

import (
	"linerate/internal/failure"
	"linerate/internal/move/route"
)

// rootOf is the directory that the target writes to, and the name that a single source takes
// there ("": its own). A copy creates the directory if its parent exists.
func rootOf(target string, one bool, do Deed) (root, as string, err error) {
	to, err := route.TargetOf(target, one)
	switch {
	case err != nil:
		return "", "", err
	case do == Comparing && to.Missing:
		return "", "", failure.Of(failure.Usage, "target %s is not there", target)
	case do == Copying:
		err = to.Make()
	}
	return to.Root, to.As, err
}
