package block

import (
	"errors"
	"fmt"
	"io/fs"

	"linerate/internal/unit"
)

// Target is an open file or block device.
type Target struct {
	Path   string
	Size   unit.Bytes
	Device bool // a block device
	file   openFile
}

// openFile is what the system's part gives.
type openFile interface {
	file
	handle() int32
	close() error
}

func (t *Target) fd() int32 { return t.file.handle() }

// Close closes the target.
func (t *Target) Close() error {
	if err := t.file.close(); err != nil {
		return fmt.Errorf("close %s: %w", t.Path, err)
	}
	return nil
}

// Refusals of Open.
var (
	// ErrInUse: the device is mounted, or the kernel uses it otherwise.
	ErrInUse = errors.New("it is in use")
	// ErrNotNamedTwice: writing to a device destroys what is on it.
	ErrNotNamedTwice = errors.New("writing to a device destroys what is on it: name it a second time to allow that")
	// ErrShort: the file ends before the area does.
	ErrShort = errors.New("it is too short")
)

// Open opens the target of a run. It creates and enlarges nothing. A workload
// that writes to a device must name it a second time, as destroy; without
// that, or where it only reads, nothing on it can change. An area of 0 in the
// Spec becomes what lies behind From, so the Spec is returned with the Target.
func Open(s Spec, destroy string) (*Target, Spec, error) {
	writes := s.Shape.Read < 1
	t, err := openTarget(s, writes, destroy == s.Path)
	if err != nil {
		return nil, s, fmt.Errorf("open %s: %w", s.Path, err)
	}
	if err := t.fit(&s, writes, destroy); err != nil {
		return nil, s, errors.Join(fmt.Errorf("open %s: %w", s.Path, err), t.Close())
	}
	return t, s, nil
}

func (t *Target) fit(s *Spec, writes bool, destroy string) error {
	if t.Device && writes && destroy != s.Path {
		return ErrNotNamedTwice
	}
	if s.Shape.Area == 0 {
		s.Shape.Area = t.Size - s.From
	}
	if s.Shape.Area <= 0 || s.From+s.Shape.Area > t.Size {
		return fmt.Errorf("%w: it has %v, the workload needs %v from %v on", ErrShort, t.Size, s.Shape.Area, s.From)
	}
	return nil
}

// kindOf says whether a file is a device, and refuses what is neither file nor
// device.
func kindOf(mode fs.FileMode) (device bool, err error) {
	switch {
	case mode.IsRegular():
		return false, nil
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		return true, nil
	}
	return false, fmt.Errorf("it is a %v, neither a regular file nor a block device", mode.Type())
}
