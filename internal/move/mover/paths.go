package mover

import (
	"encoding/json"
	"fmt"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/route"
	"linerate/internal/unit"
)

// rootOf is the directory that the target writes to, and the name that a single source takes
// there ("": its own). A copy creates the directory if its parent exists. What route.Landing.Apart refuses, it refuses before.
func (m *mover) rootOf(c Command) (root, as string, err error) {
	target, do := string(m.task.Write), m.task.Do
	to, err := route.TargetOf(target, c.One)
	if err == nil && len(c.Lie) > 0 {
		var land route.Landing
		if land, err = to.Landing(move.Strings(c.Whole)); err == nil {
			err = land.Apart(c.Lie, m.task.Delete, move.Strings(m.task.Exclude))
		}
	}
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

// maxSpots bounds what is told of where sources lie: with it, that of other sources has to fit into one
// line of Commands.
const maxSpots = MaxTask / 4

// spots are where the sources lie. Of a host with very many mounts, only the sources themselves: what else
// leads to a mount below them is not known then.
func (m *mover) spots(from route.Source) ([]route.Spot, error) {
	if len(m.task.Read) == 0 {
		return nil, nil
	}
	out, err := from.Spots()
	if err != nil {
		return nil, err
	}
	for _, all := range []bool{true, false} {
		for i := range out {
			if !all {
				out[i].Below = nil
			}
		}
		b, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("tell where sources lie: %w", err)
		}
		if len(b) <= maxSpots {
			return out, nil
		}
	}
	return nil, failure.Of(failure.Usage, "%s have too long paths for one copy: name a directory above them, or copy them in several turns", unit.Count(len(out), "source"))
}
