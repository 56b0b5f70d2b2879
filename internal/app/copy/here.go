package copy

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/move/local"
)

// watch samples this host during a copy within it. The host stands for both ends: as the sender it is
// sampled with the source's disk, as the receiver with the target's.
func (s *session) watch(ctx context.Context, cpu time.Duration) *local.Spent {
	s.seen, s.spent, s.cpu = newWatched(s.env.Now), &local.Spent{}, cpu
	host, _ := os.Hostname() // the name is only shown: the copy can do without
	close(s.seen.looked)     // no facts are read for a copy within one host
	for i, device := range []string{s.src.Device(), s.dst.Device()} {
		s.seen.known(i, host, nil, s.seen.ends[i].peer)
		s.seen.follow(ctx, i, &reader{s, i}, measure.Watch{PIDs: []int{os.Getpid()}, Serves: &measure.Serving{Disk: device}})
	}
	return s.spent
}

// tell gives both ends' samples the counters of the copy.
func (s *session) tell() {
	t, m := s.spent.Times(), s.report.Summary()
	c := model.CopyCount{Took: s.env.Now().Sub(s.began), Reading: t.Read, Writing: t.Write, Committing: t.Commit, CPU: cpuTime() - s.cpu,
		CPUs: runtime.NumCPU(), Bytes: m.Bytes, Files: m.Files, Limit: int64(s.o.Limit)}
	for i := range s.seen.ends {
		s.seen.told(i, c)
	}
}

// reader samples this process in the way in which an agent samples a remote one.
type reader struct {
	s *session
	i int
}

// FollowSampling implements sampler.
func (r *reader) FollowSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	in, err := measure.NewSampler(kernel.Live{}, w, r.s.env.Now)
	if err != nil {
		return nil, fmt.Errorf("watch the copy: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			x, err := in.Read(ctx)
			if err != nil {
				return
			}
			r.s.tell()
			each(x)
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() ([]model.Sample, error) { cancel(); <-done; return nil, nil }, nil
}
