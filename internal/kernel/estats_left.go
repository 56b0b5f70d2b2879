package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"linerate/internal/unit"
)

// EstatsSwitched is what linerate has switched on of one connection, all of which was off before.
type EstatsSwitched struct {
	Row    []byte        `json:"row"` // as Read and Switch want it
	PID    int           `json:"pid"` // of the process that holds the connection
	Groups []EstatsGroup `json:"groups"`
}

// Check refuses what no watch can have recorded.
func (s EstatsSwitched) Check() error {
	if len(s.Row) != plainRow && len(s.Row) != plainRow6 {
		return fmt.Errorf("a connection of %d bytes", len(s.Row))
	}
	if len(s.Groups) == 0 {
		return errors.New("a connection of which nothing was switched on")
	}
	last := EstatsGroup(0)
	for _, g := range s.Groups {
		known := slices.ContainsFunc(estatsGroups(), func(k estatsKnown) bool { return k.group == g })
		if !known || g <= last {
			return fmt.Errorf("groups %v", s.Groups)
		}
		last = g
	}
	return nil
}

// SwitchOffEstats switches off what processes that are dead have left on: of the connections that are still
// there, held by the same process, and what of them is still on. What kept lists is a living process's,
// and stays on. It returns of how many connections it switched off all; the error is why not of others.
func SwitchOffEstats(calls Estats, left, kept []EstatsSwitched) (off int, err error) {
	now := map[string]int{}
	ends, err := estatsTables(calls)
	if err != nil {
		return 0, err
	}
	for _, e := range ends {
		now[e.key()] = e.pid
	}
	var on []EstatsSwitched
	for _, s := range left {
		pid, there := now[string(s.Row[4:])]
		s.Groups = slices.DeleteFunc(slices.Clone(s.Groups), func(g EstatsGroup) bool {
			return !there || pid != s.PID || isKept(kept, s.Row, g) || isOff(calls, s.Row, g)
		})
		if len(s.Groups) > 0 {
			on = append(on, s)
		}
	}
	stay, err := switchOff(calls, on)
	return len(on) - len(stay), err
}

func isKept(kept []EstatsSwitched, row []byte, g EstatsGroup) bool {
	return slices.ContainsFunc(kept, func(k EstatsSwitched) bool {
		return slices.Equal(k.Row[4:], row[4:]) && slices.Contains(k.Groups, g)
	})
}

// isOff tells that a group is known to be off, or that its connection is gone.
func isOff(calls Estats, row []byte, g EstatsGroup) bool {
	_, rw, err := readGroup(calls, row, g)
	return errors.Is(err, ErrNoConn) || err == nil && rw == 0
}

// switchOff switches off and reads back. It returns what may be on nevertheless, and the first reason.
func switchOff(calls Estats, all []EstatsSwitched) (stay []EstatsSwitched, why error) {
	failed := 0
	for _, s := range all {
		on := s
		on.Groups = nil
		for _, g := range s.Groups {
			if err := switchOffGroup(calls, s.Row, g); err != nil {
				on.Groups, failed, why = append(on.Groups, g), failed+1, cmp.Or(why, err)
			}
		}
		if len(on.Groups) > 0 {
			stay = append(stay, on)
		}
	}
	if why != nil {
		why = fmt.Errorf("%w (%s of %s)", why, unit.Count(failed, "group"), unit.Count(len(stay), "connection"))
	}
	return stay, why
}

// switchOffGroup switches a group off; with its connection it is gone.
func switchOffGroup(calls Estats, row []byte, g EstatsGroup) error {
	err := calls.Switch(row, g, false)
	if errors.Is(err, ErrNoConn) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("switch off group %d: %w", g, err)
	}
	if _, rw, err := readGroup(calls, row, g); err == nil && rw != 0 {
		return fmt.Errorf("group %d was switched off, and is on", g)
	}
	return nil
}
