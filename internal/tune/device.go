package tune

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// presentMAC begins the Hardware of an interface that has no address of its own for good.
const presentMAC = "link:"

// nodeMark stands before what tells such an interface from one that was made in its place.
const nodeMark = "#"

// interfaceOf is the kernel's number of the interface that a place names by its
// name, 0 where it names none, and what tells it from others. The number stays when the
// interface is renamed; a name may be anybody's the next moment, and a number once the
// interface is gone (ip link add … index N).
func (s *session) interfaceOf(ctx context.Context, at setter.Place) (int, string, error) {
	name, ok := setter.InterfaceNamed(at)
	if !ok || s.Interfaces == nil {
		return 0, "", nil
	}
	all, err := s.Interfaces(ctx)
	if err != nil {
		return 0, "", fmt.Errorf("find interface %s: %w", name, err)
	}
	for index, i := range all {
		if i.Name == name {
			return index, i.Hardware, nil
		}
	}
	return 0, "", nil // what reads it says so
}

// locate is where the value of an entry is now. An interface that was renamed
// since is found by its number; one of the same name, or of the same number, that is
// another is never meant.
func (s *session) locate(ctx context.Context, e Entry) (setter.Place, error) {
	at := place(e)
	if e.Index == 0 || e.BootID != s.BootID || s.Interfaces == nil {
		return at, nil
	}
	all, err := s.Interfaces(ctx)
	if err != nil {
		return at, fmt.Errorf("find interface %d, which was that of %s: %w", e.Index, at, err)
	}
	now, ok := all[e.Index]
	if !ok {
		return at, fmt.Errorf("find interface %d, which was that of %s: it is gone, or in another network namespace: %w", e.Index, at, kernel.ErrNoDevice)
	}
	if !e.meant(now) {
		return at, fmt.Errorf("find interface %d, which was that of %s (%s): it is gone, and %s (%s) has its number: %w", e.Index, at, e.Hardware, now.Name, now.Hardware, kernel.ErrNoDevice)
	}
	return setter.Renamed(at, now.Name), nil
}

// meant tells whether the interface that has the entry's number is the one that was changed. Of
// one without hardware the node tells; where it is not known, as in entries of an earlier build,
// an address that may be set tells only together with the name.
func (e Entry) meant(now Interface) bool {
	if e.Hardware == "" || e.Hardware == now.Hardware {
		return true
	}
	was, node, known := strings.Cut(e.Hardware, nodeMark)
	is, nodeNow, knownNow := strings.Cut(now.Hardware, nodeMark)
	if known && knownNow {
		return node == nodeNow
	}
	if was == is {
		return true
	}
	name, _ := setter.InterfaceNamed(place(e))
	settable := strings.HasPrefix(e.Hardware, presentMAC) && strings.HasPrefix(now.Hardware, presentMAC)
	return settable && name == now.Name
}

// vanished tells whether a value is gone with its device.
func vanished(err error) bool { return errors.Is(err, kernel.ErrNoDevice) }
