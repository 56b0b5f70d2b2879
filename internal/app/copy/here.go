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

// watch samples this host while it copies within itself: as who sends with the source's disk,
// as who receives with the target's.
func (s *session) watch(ctx context.Context, cpu time.Duration) *local.Spent {
	s.seen, s.spent, s.cpu = newWatched(s.env.Now), &local.Spent{}, cpu
	host, _ := os.Hostname() // without a name it is this host all the same
	close(s.seen.looked)     // of one host the samples are enough
	for i, device := range []string{s.src.Device(), s.dst.Device()} {
		s.seen.known(i, host, nil, s.seen.ends[i].peer)
		s.seen.follow(ctx, i, &reader{s, i}, measure.Watch{PIDs: []int{os.Getpid()}, Serves: &measure.Serving{Disk: device}})
	}
	return s.spent
}

// tell has the samples know how far the copy is.
func (s *session) tell() {
	t, m := s.spent.Times(), s.report.Summary()
	c := model.CopyCount{Took: s.env.Now().Sub(s.began), Reading: t.Read, Writing: t.Write, Committing: t.Commit, CPU: cpuTime() - s.cpu,
		CPUs: runtime.NumCPU(), Bytes: m.Bytes, Files: m.Files, Limit: int64(s.o.Limit)}
	for i := range s.seen.ends {
		s.seen.told(i, c)
	}
}

// reader is this process as an agent that samples.
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
