package block

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// Engine is how requests reach the target.
type Engine string

// Auto is Ring where the system has one, else Calls. Calls are pread and
// pwrite on a thread per request in flight. Null has no target.
const (
	Auto  Engine = "auto"
	Ring  Engine = "ring"
	Calls Engine = "calls"
	Null  Engine = "null"
)

// Sync is how writes become durable.
type Sync string

// Every makes every write durable before it completes (O_DSYNC); After follows
// each SyncEvery-th write of a worker by an fdatasync that waits in the queue
// like a request; None leaves it to the target.
const (
	None  Sync = "none"
	Every Sync = "every"
	After Sync = "after"
)

// Spec is one run on one target.
type Spec struct {
	Path      string
	Shape     shape.Shape
	From      unit.Bytes // where the shape's area begins on the target
	Threads   int
	Depth     int // requests in flight per thread
	Engine    Engine
	Direct    bool // past the page cache (O_DIRECT)
	Sync      Sync
	SyncEvery int
	Warmup    time.Duration // before the measured part; not counted
	Duration  time.Duration // of the measured part
	// Steady has the target settle after the warm-up, before it is measured; nil: it
	// need not.
	Steady *Steady
	// Requests after which the run ends, if that is sooner, over all threads;
	// 0: no bound. A pass over an area is its blocks.
	Requests int64
	// Seed is of offsets, sizes, mix and arrivals: the same seed makes the same
	// requests. Run is of what is written and names the run in its stamps: it
	// must be another one every time (draw it from crypto/rand), or a target
	// that has seen the data before need not write it. 0 goes with reads only.
	Seed, Run uint64
	// Stuck is how long a request may take before the run is given up and the
	// requests that are out are named; 0: StuckAfter.
	Stuck time.Duration
	// Slack is how much random data a writer draws from besides the largest
	// request, per request in flight: with more, a compressor with a long
	// window finds nothing twice. 0: enough that a thread has 4 MiB.
	Slack unit.Bytes
	// Compress is the ratio by which what is written compresses, in sectors of 4 KiB;
	// Dedup how often each block of it is written on average. 0 and 1: neither.
	// What is written so more than once carries no stamp, and cannot be verified.
	Compress, Dedup float64
	// Journal is told what the target acknowledged; nil: nobody is.
	Journal *Journal `json:"-"`
	// Progress is told what was completed while the run goes on; nil: nobody is.
	Progress *Progress `json:"-"`
	// Begin is called once, when every thread is ready, and returns when the run
	// is to begin: at a barrier that several hosts pass. Its error ends the run
	// before any request was made. nil: the run begins at once.
	Begin func(context.Context) error `json:"-"`
}

// Bounds of a Spec.
const (
	MaxThreads = 256
	MaxDepth   = 1024
)

// Bounds of the memory that requests in flight have. The kernel registers no
// buffer above 1 GiB with a ring (io_sqe_buffer_register, io_uring/rsrc.c).
const (
	MaxThreadMemory = unit.GiB
	MaxMemory       = 2 * unit.GiB
)

// stoppedStuck is what a request still may take once the run was told to end.
const stoppedStuck = 5 * time.Second

// Check says why the run cannot be made.
func (s Spec) Check() error {
	if err := s.Shape.Check(); err != nil {
		return err
	}
	switch {
	case s.Threads < 1 || s.Threads > MaxThreads:
		return fmt.Errorf("run workload: %d threads, want 1 to %d", s.Threads, MaxThreads)
	case s.Depth < 1 || s.Depth > MaxDepth:
		return fmt.Errorf("run workload: %d requests in flight per thread, want 1 to %d", s.Depth, MaxDepth)
	case s.Duration <= 0 || s.Warmup < 0:
		return fmt.Errorf("run workload: for %v after %v of warm-up: want a positive time", s.Duration, s.Warmup)
	case s.Sync == After && s.SyncEvery < 1:
		return fmt.Errorf("run workload: a sync after every %d writes", s.SyncEvery)
	case s.Path == "" && s.Engine != Null:
		return fmt.Errorf("run workload: no file or device")
	case s.Requests < 0:
		return fmt.Errorf("run workload: %d requests", s.Requests)
	case s.Run == 0 && s.Shape.Read < 1:
		return errors.New("run workload: a run that writes needs a number of its own")
	case s.Stuck < 0:
		return fmt.Errorf("run workload: requests that may take %v", s.Stuck)
	case s.From < 0:
		return fmt.Errorf("run workload: an area that begins at %d", s.From)
	}
	if s.Steady != nil && (s.Steady.Round <= 0 || s.Steady.Round > time.Hour || s.Steady.Most < 0 || s.Steady.Most > MaxRounds || s.Requests > 0) {
		return fmt.Errorf("run workload: rounds of %v until the target is steady: want above 0 to an hour, at most %d, and no end by requests", s.Steady.Round, MaxRounds)
	}
	if err := s.checkRatios(); err != nil {
		return err
	}
	if err := s.checkMemory(); err != nil {
		return err
	}
	switch s.Engine {
	case Auto, Ring, Calls, Null:
	default:
		return fmt.Errorf("run workload: engine %q: choose auto, ring, calls or null", s.Engine)
	}
	switch s.Sync {
	case None, Every, After:
	default:
		return fmt.Errorf("run workload: sync %q: choose none, every or after", s.Sync)
	}
	return nil
}

// MaxRatio is the largest ratio by which data compress, or are the same: a stamp of
// 48 bytes in each sector does not.
const MaxRatio = 64

func (s Spec) checkRatios() error {
	for name, ratio := range map[string]float64{"compress": s.Compress, "deduplicate": s.Dedup} {
		if ratio != 0 && !(ratio >= 1 && ratio <= MaxRatio) {
			return fmt.Errorf("run workload: data that %s by %v: want a ratio from 1 to %d", name, ratio, MaxRatio)
		}
	}
	if s.Compress > 1 {
		for _, z := range s.Shape.Sizes {
			if z.Size%sector != 0 {
				return fmt.Errorf("run workload: requests of %v compress by no ratio of their own: want multiples of 4 KiB", z.Size)
			}
		}
	}
	if s.Dedup > 1 && s.Journal != nil {
		return errors.New("run workload: what is written twice carries no stamp, so that a journal has nothing to be held against")
	}
	return nil
}

func (s Spec) checkMemory() error {
	if s.Slack < 0 || s.Slack > MaxThreadMemory {
		return fmt.Errorf("run workload: %v of data besides a request, want 0 to %v", s.Slack, MaxThreadMemory)
	}
	one := s.ofThread()
	switch all := one * unit.Bytes(s.Threads); {
	case one > MaxThreadMemory:
		return fmt.Errorf("run workload: %d requests in flight of up to %v need %v of memory per thread, want at most %v", s.Depth, s.Shape.Largest(), one, MaxThreadMemory)
	case all > MaxMemory:
		return fmt.Errorf("run workload: %d threads with %d requests in flight of up to %v need %v of memory, want at most %v", s.Threads, s.Depth, s.Shape.Largest(), all, MaxMemory)
	}
	return nil
}

// RunNumber draws what names a run in the data that it writes; it is never 0, which is
// none.
func RunNumber() (uint64, error) {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, fmt.Errorf("draw number of run: %w", err)
	}
	return binary.LittleEndian.Uint64(b[:]) | 1, nil
}

// Buffered tells whether writes return once they stand in this host's page cache, and no
// sync follows them.
func (s Spec) Buffered() bool {
	return s.Engine != Null && !s.Direct && s.Sync == None && s.Shape.Read < 1
}
