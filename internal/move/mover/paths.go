package mover

import (
	"linerate/internal/failure"
	"linerate/internal/move/route"
	"linerate/internal/move/tree"
)

// topsOf are the entries that the source reads. one tells that it is a single entry and no
// directory; whole are the names that the directories among them have in the target.
func topsOf(paths []string) (tops []tree.Top, one bool, whole []string, err error) {
	tops, dirs, err := route.Sources(paths)
	for i, is := range dirs {
		if is {
			whole = append(whole, tops[i].As)
		}
	}
	return tops, len(dirs) == 1 && !dirs[0], whole, err
}

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
