package explain

import (
	"context"
	"time"

	"linerate/internal/facts"
	"linerate/internal/host"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// LiveAgent is a host's agent as a live view asks it.
type LiveAgent struct{ *host.Client }

// lldpTime is a little longer than switches leave between two announcements (IEEE 802.1AB: 30 s).
const lldpTime = 35 * time.Second

// FollowSampling implements measure.Follower. A view takes each sample once, and may last for days
// and watch a thousand hosts: none is kept.
func (a LiveAgent) FollowSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	return a.PassSampling(ctx, w, interval, each)
}

// HeardPorts implements loop.LiveAgent.
func (a LiveAgent) HeardPorts(ctx context.Context) ([]model.SwitchPort, error) {
	p, err := a.HearSwitches(ctx, lldpTime)
	if err != nil {
		return nil, err
	}
	return facts.HeardPorts(p.Heard), nil
}
