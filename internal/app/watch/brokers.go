package watch

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"linerate/internal/app/explain"
	"linerate/internal/host"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// brokers are where the hosts' sites have theirs. What agents say to a broker on a watched host is
// linerate's own traffic, and no path's.
func brokers(ctx context.Context, d reach.Dialler, names []host.Name) (out []netip.AddrPort, err error) {
	seen := map[string]bool{}
	for _, n := range names {
		if n.Reach != host.Site || seen[n.Site] {
			continue
		}
		seen[n.Site] = true
		its, err := d.Brokers(ctx, n.Site)
		if err != nil {
			return nil, err
		}
		out = append(out, its...)
	}
	return out, nil
}

// siteAgent is an agent of a site, whose samples lack the connections to brokers.
type siteAgent struct {
	explain.LiveAgent
	brokers []netip.AddrPort
}

// FollowSampling implements measure.Follower.
func (a siteAgent) FollowSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	return a.LiveAgent.FollowSampling(ctx, w, interval, func(s model.Sample) { each(without(s, a.brokers)) })
}

// without is a sample without the connections of which one end is a broker's.
func without(s model.Sample, brokers []netip.AddrPort) model.Sample {
	ofBroker := func(c model.Conn) bool {
		return slices.Contains(brokers, c.Local) || slices.Contains(brokers, c.Remote)
	}
	if slices.ContainsFunc(s.Conns, ofBroker) {
		s.Conns = slices.DeleteFunc(slices.Clone(s.Conns), ofBroker)
	}
	return s
}
