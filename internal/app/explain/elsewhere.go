package explain

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
)

// elsewhere chooses the connections to watch on a system other than Linux.
func (o WatchOptions) elsewhere(ctx context.Context, system string) (loop.Target, error) {
	switch {
	case o.PID != 0:
		return loop.Target{Name: fmt.Sprintf("process %d", o.PID), PID: o.PID, NoTasks: true}, nil
	case o.Peer != "":
		return o.peerTarget(ctx)
	}
	return loop.Target{}, failure.Advise(failure.Of(failure.Failed, "explain %s: on %s linerate does not find out which connections serve a path", o.Path, system), failure.NameServer)
}

// factsHere reads the same facts as linerate check, on a system that is read by a script. If that fails,
// the connections are judged without facts, and the verdict says what could not be seen.
func factsHere(ctx context.Context, e app.Env, p app.Progress, name string) (*model.Facts, error) {
	system, _ := systems.Find(name)
	answer, err := e.Reach(p).Ask(ctx, host.Name{Host: reach.Here}, name, system.Script(), frame.Most)
	var f *model.Facts
	if err == nil {
		f, err = systems.Read(system, answer, reach.Here, e.Now())
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		f = &model.Facts{V: model.FactsVersion, OS: name, Taken: e.Now(), CouldNotSee: []model.Blind{{
			What: "adapters and settings of this host", WouldShow: "the line rate, so the ceiling, and settings that disagree with the guide", How: failure.FirstLine(err),
		}}}
	}
	if f.Hostname == "" {
		f.Hostname = reach.Here
	}
	return f, nil
}

// repeat reads the connections every interval until the returned function is called, and at least twice.
func repeat(ctx context.Context, now func() time.Time, interval time.Duration, read func(context.Context) ([]model.Conn, error)) func() ([]model.Sample, error) {
	over, end := context.WithCancel(ctx)
	var samples []model.Sample
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			s := model.Sample{V: model.SampleVersion, HostAt: now(), Throttled: model.Unknown[time.Duration](model.Unsupported, "only Linux has such a quota")}
			var err error
			if s.Conns, err = read(ctx); err != nil {
				done <- err
				return
			}
			s.Spread = now().Sub(s.HostAt).Truncate(time.Millisecond)
			samples = append(samples, s)
			if len(samples) < 2 && ctx.Err() == nil {
				continue // rates need two samples
			}
			select {
			case <-over.Done():
				done <- nil
				return
			case <-tick.C:
			}
		}
	}()
	return func() ([]model.Sample, error) {
		end()
		err := <-done
		return samples, err
	}
}
