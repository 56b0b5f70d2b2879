package mover

import (
	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/route"
)

// rootOf is the directory that the target writes to, and the name that a single source takes
// there ("": its own). A copy creates the directory if its parent exists. What route.Landing refuses, it
// refuses before; doubt is what that leaves.
func (m *mover) rootOf(c Command) (root, as, doubt string, err error) {
	target, do := string(m.task.Write), m.task.Do
	to, err := route.TargetOf(target, c.One)
	if err == nil && !c.Lie.IsZero() {
		doubt, err = m.apart(to, c)
	}
	switch {
	case err != nil:
		return "", "", "", err
	case do == Comparing && to.Missing:
		return "", "", "", failure.Of(failure.Usage, "target %s is not there", target)
	case do == Copying:
		err = to.Make()
	}
	return to.Root, to.As, doubt, err
}

// apart refuses a target that lies in a source, or that holds one which would be deleted.
func (m *mover) apart(to route.Target, c Command) (doubt string, err error) {
	land, err := to.Landing(move.Strings(c.Whole))
	if err == nil {
		err = land.Apart(c.Lie.Spots, m.task.Delete, move.Strings(m.task.Exclude))
	}
	if err != nil {
		return "", err
	}
	return land.Untold(c.Lie, m.task.Delete, MaxLie)
}

// MaxLie bounds what is told of where sources lie: it has to fit into one line of Commands, beside their names.
const MaxLie = MaxTask / 4

// lie is where the sources lie.
func (m *mover) lie(from route.Source) (route.Lie, error) {
	if len(m.task.Read) == 0 {
		return route.Lie{}, nil
	}
	spots, err := from.Spots()
	if err != nil {
		return route.Lie{}, err
	}
	return route.Lie{Spots: spots}.Within(MaxLie)
}
