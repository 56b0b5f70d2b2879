package block

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"linerate/internal/load/ring"
	"linerate/internal/unit"
)

// Target is an open file or block device.
type Target struct {
	Path   string
	Size   unit.Bytes
	Device bool // a block device
	file   openFile
	// abandoned: requests are out that may never come back.
	abandoned atomic.Bool
}

// openFile is what the system's part gives.
type openFile interface {
	file
	handle() int32
	close() error
}

func (t *Target) fd() int32 { return t.file.handle() }

// abandon leaves the target as it is: to close or sync what does not answer would
// wait for it.
func (t *Target) abandon() {
	if t != nil {
		t.abandoned.Store(true)
	}
}

// Close closes the target; one that was abandoned keeps its descriptor until the
// process ends.
func (t *Target) Close() error {
	if t.abandoned.Load() {
		return nil
	}
	if err := t.file.close(); err != nil {
		return fmt.Errorf("close %s: %w", t.Path, err)
	}
	return nil
}

// SyncTime bounds what may have to write back all that memory held, and the removal of
// files, on a target that may take as long as stuck (0: StuckAfter) for one request.
func SyncTime(stuck time.Duration) time.Duration { return 10 * cmp.Or(stuck, StuckAfter) }

// Sync makes durable what was written to the target. A target that has not answered
// within SyncTime(stuck) is abandoned, and the error is a *StuckError.
func (t *Target) Sync(ctx context.Context, stuck time.Duration) error {
	return t.orAbandon(ctx, stuck, "sync "+t.Path, t.sync)
}

// Forget asks the kernel to drop what the page cache holds of the target, once that is
// durable. A target that has not answered within SyncTime(stuck) is abandoned, and the
// error is a *StuckError.
func (t *Target) Forget(ctx context.Context, stuck time.Duration) error {
	return t.orAbandon(ctx, stuck, "drop the page cache of "+t.Path, t.forget)
}

// orAbandon calls f, which may wait for the target for ever.
func (t *Target) orAbandon(ctx context.Context, stuck time.Duration, doing string, f func() error) error {
	err := Within(ctx, SyncTime(stuck), doing, f)
	var late *StuckError
	if errors.As(err, &late) {
		t.abandon()
	}
	return err
}

func (t *Target) sync() error {
	if no := t.file.sync(false); no < 0 {
		return fmt.Errorf("sync %s: %w", t.Path, errorOf(-int(no)))
	}
	return nil
}

// Refusals of Open.
var (
	// ErrInUse: the device is mounted, or the kernel uses it otherwise.
	ErrInUse = errors.New("it is in use")
	// ErrNotNamedTwice: writing to a device destroys what is on it.
	ErrNotNamedTwice = errors.New("writing to a device destroys what is on it: name it a second time to allow that")
	// ErrNotOurs: what the workload would overwrite was not written by an
	// earlier run.
	ErrNotOurs  = errors.New("it holds data that no run of linerate has written, and the workload would overwrite it: name the file a second time to allow that")
	errReplaced = errors.New("another file was put in its place while it was opened")
	// ErrNoDirect: the page cache cannot be passed by here.
	ErrNoDirect = errors.New("its file system knows no direct I/O")
	// ErrShort: the file ends before the area does.
	ErrShort = errors.New("it is too short")
)

// Open opens the target of a run. It creates and enlarges nothing. A workload
// that writes to a device, or over data in a file that is not an earlier run's,
// must name it a second time, as destroy. An area of 0 in the
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
	if t.Size == 0 {
		return fmt.Errorf("%w: it is empty", ErrShort)
	}
	if s.Shape.Area == 0 {
		s.Shape.Area = t.Size - s.From
	}
	if s.Shape.Area <= 0 || s.From+s.Shape.Area > t.Size {
		return fmt.Errorf("%w: it has %v, the workload needs %v from %v on", ErrShort, t.Size, s.Shape.Area, s.From)
	}
	if writes && destroy != s.Path {
		return t.checkOurs(*s)
	}
	return nil
}

// Span is a part of a target.
type Span struct{ From, Size unit.Bytes }

// samples of each written part of an area that must be stamped to believe that
// a run wrote it, and how many parts are looked at.
const (
	samples  = 16
	maxParts = 256
)

// checkOurs refuses an area that holds somebody's data: whatever was written in
// it must carry stamps wherever one looks.
func (t *Target) checkOurs(s Spec) error {
	holes, err := t.Holes(s)
	if err != nil {
		return err
	}
	b, err := ring.Memory(sector)
	if err != nil {
		return err
	}
	defer ring.Free(b) // unmapping what was mapped cannot fail
	parts := between(holes, Span{s.From, s.Shape.Area})
	if len(parts) > maxParts {
		return ErrNotOurs
	}
	for _, p := range parts {
		if err := t.checkStamps(p, b); err != nil {
			return err
		}
	}
	return nil
}

func (t *Target) checkStamps(p Span, b []byte) error {
	last := (p.From + p.Size - 1) / sector * sector
	for i := range unit.Bytes(samples + 1) {
		at := min((p.From+p.Size*i/samples+sector-1)/sector*sector, last)
		if n := t.file.readAt(b, int64(at)); n < 0 {
			return fmt.Errorf("look at what it holds: %w", errorOf(-int(n)))
		}
		if stamp, ok := ReadStamp(b); !ok || stamp.Address != uint64(at) {
			return ErrNotOurs
		}
	}
	return nil
}

// between returns what holes leave of an area.
func between(holes []Span, area Span) []Span {
	var parts []Span
	at, end := area.From, area.From+area.Size
	for _, h := range append(holes, Span{From: end}) {
		if h.From > at {
			parts = append(parts, Span{at, h.From - at})
		}
		at = h.From + h.Size
	}
	return parts
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
	what := "special file"
	if mode.IsDir() {
		what = "directory"
	}
	return false, fmt.Errorf("it is a %s, neither a regular file nor a block device", what)
}
