package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	"linerate/internal/model"
)

// CloseConns is how many connections of a host a live view has told one by one at most, so that each can
// be judged. Of more a sample would have more than a megabyte of text, ten times a second: then it has some of
// them, and what all of them did as sums (model.Sample.Totals).
const CloseConns = 1000

// MovingConns is of how many connections such samples tell that move data: if no more do, they tell in each
// sample all that do.
const MovingConns = 256

// Follower is an End that passes samples on as they are taken.
type Follower interface {
	// FollowSampling is StartSampling; each gets every sample as it arrives, in order, and must
	// return at once.
	FollowSampling(ctx context.Context, w Watch, interval time.Duration, each func(model.Sample)) (stop func() ([]model.Sample, error), err error)
}

// StoppedError, as the cause of a run's context, ends the run on purpose: it keeps the samples
// taken so far and has no goodput.
type StoppedError struct{ Why string }

func (e *StoppedError) Error() string { return "stopped: " + e.Why }

// follow samples an end, and passes each sample on if there is a receiver.
func follow(ctx context.Context, e End, w Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	if each == nil {
		return e.StartSampling(ctx, w, interval)
	}
	f, ok := e.(Follower)
	if !ok {
		return nil, fmt.Errorf("watch the run while it goes on: %T cannot", e)
	}
	return f.FollowSampling(ctx, w, interval, each)
}

// maxDrift is beyond what no sound clock drifts, in parts per million: an NTP daemon slews one by 500.
const maxDrift = 1000

// Drift relates two readings of a host's clock, taken elapsed apart by the controller's: it
// returns the first with its drift in parts per million, and the bound on that, half a round trip
// of each reading over the time between them. Too short a time gives no drift. Nor does a clock that
// was set in between: set is then by how much it went ahead of the controller's, and 0 otherwise.
func Drift(first, second model.Clock, elapsed time.Duration) (c model.Clock, set time.Duration) {
	if elapsed <= 0 {
		return first, 0
	}
	drift := float64(second.Offset-first.Offset) / float64(elapsed) * 1e6
	bound := float64(first.Error+second.Error) / float64(elapsed) * 1e6
	if math.Abs(drift)-bound > maxDrift {
		return first, second.Offset - first.Offset
	}
	first.Drift, first.DriftError = &drift, &bound
	return first, 0
}
