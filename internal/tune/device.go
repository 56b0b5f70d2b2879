package tune

import (
	"context"
	"errors"
	"fmt"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// indexOf is the kernel's number of the interface that a place names by its
// name, 0 where it names none. The number stays when the interface is renamed
// and is not given to another while the kernel runs (net/core/dev.c,
// dev_index_reserve); a name may be anybody's the next moment.
func (s *session) indexOf(ctx context.Context, at setter.Place) (int, error) {
	name, ok := setter.InterfaceNamed(at)
	if !ok || s.Interfaces == nil {
		return 0, nil
	}
	names, err := s.Interfaces(ctx)
	if err != nil {
		return 0, fmt.Errorf("find interface %s: %w", name, err)
	}
	for index, n := range names {
		if n == name {
			return index, nil
		}
	}
	return 0, nil // what reads it says so
}

// locate is where the value of an entry is now. An interface that was renamed
// since is found by its number; one of the same name that is another is never
// meant.
func (s *session) locate(ctx context.Context, e Entry) (setter.Place, error) {
	at := place(e)
	if e.Index == 0 || e.BootID != s.BootID || s.Interfaces == nil {
		return at, nil
	}
	names, err := s.Interfaces(ctx)
	if err != nil {
		return at, fmt.Errorf("find interface %d, which was that of %s: %w", e.Index, at, err)
	}
	name, ok := names[e.Index]
	if !ok {
		return at, fmt.Errorf("find interface %d, which was that of %s: it is gone, or in another network namespace: %w", e.Index, at, kernel.ErrNoDevice)
	}
	return setter.Renamed(at, name), nil
}

// vanished tells whether a value is gone with its device.
func vanished(err error) bool { return errors.Is(err, kernel.ErrNoDevice) }
