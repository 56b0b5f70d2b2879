package study

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"

	"linerate/internal/app"
	"linerate/internal/app/copy"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop/experiment"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// hosts reaches the hosts of a study, and keeps the newest agent of each.
type hosts struct {
	env    app.Env
	p      app.Progress
	file   model.StudyFile
	agents map[string]*host.Client // by the file's name
}

// dial reaches a host by its name in the file.
func (s *hosts) dial(ctx context.Context, name string) (*host.Client, error) {
	n, err := host.ParseName(s.file.Hosts[name])
	switch {
	case err != nil:
		return nil, failure.Of(failure.Usage, "host %s: %w", name, err)
	case n.Path != "" || n.Reach == host.Local:
		return nil, failure.Of(failure.Usage, "host %s: %s: name a host, without a path", name, s.file.Hosts[name])
	}
	c, err := s.env.Reach(s.p).Dial(ctx, n)
	if err != nil {
		return nil, err
	}
	if uid := c.Hello().UID; uid > 0 && s.changes(name) {
		err := failure.Of(failure.Failed, "change settings of %s: it takes root, and we are user %d there; log in as root, or allow sudo -n", name, uid)
		return nil, errors.Join(err, c.Close())
	}
	s.agents[name] = c
	return c, nil
}

// changes tells whether the study sets anything on a host.
func (s *hosts) changes(name string) bool {
	sets := func(l model.StudyLevel) bool {
		return slices.ContainsFunc(l.Set, func(x model.StudySetting) bool { return x.Host == name })
	}
	inLevels := func(f model.StudyFactor) bool { return slices.ContainsFunc(f.Levels, sets) }
	return slices.ContainsFunc(s.file.Baseline, sets) || slices.ContainsFunc(s.file.Factors, inLevels)
}

// all gives the hosts in order of their names, as an experiment takes them.
func (s *hosts) all() []*experiment.Host {
	var out []*experiment.Host
	for _, name := range slices.Sorted(maps.Keys(s.file.Hosts)) {
		dial := func(ctx context.Context) (experiment.Agent, error) {
			c, err := s.dial(ctx, name)
			if err != nil {
				return nil, err // a nil *host.Client would be an Agent that is not nil
			}
			return c, nil
		}
		out = append(out, &experiment.Host{Name: name, At: s.file.Hosts[name], Dial: dial})
	}
	return out
}

// copy makes one run of a workload that copies.
func (s *hosts) copy(ctx context.Context, label string, w model.StudyWorkload, from, to *experiment.Host, a, b netip.Addr) (model.Run, error) {
	j := copy.Job{Source: w.Path, Target: w.To, Streams: w.Streams, Plain: w.Plain, Full: w.Full,
		From: copy.JobEnd{Name: from.At, Agent: s.agents[from.Name], Addr: a}, To: copy.JobEnd{Name: to.At, Agent: s.agents[to.Name], Addr: b}}
	return copy.Measure(ctx, s.env, j, label, s.p)
}

// route is the data path between two hosts of the study, which are not one by two names.
func (s *hosts) route(ctx context.Context, from, to *experiment.Host) (a, b netip.Addr, err error) {
	var names []host.Name
	for _, h := range []*experiment.Host{from, to} {
		n, err := host.ParseName(h.At)
		if err != nil {
			return a, b, err
		}
		names = append(names, n)
	}
	if a, b, err = reach.Path(ctx, s.file.Via, names, []*host.Client{s.agents[from.Name], s.agents[to.Name]}); err != nil {
		return a, b, err
	}
	return a, b, reach.TwoHosts(a, b)
}
