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
	"linerate/internal/move/mover"
)

// watch samples this host during a copy within it. The host stands for both ends: as the sender it is
// shown with the source's disk, as the receiver with the target's.
func (s *session) watch(ctx context.Context, cpu time.Duration) *local.Spent {
	s.seen, s.spent, s.cpu = newWatched(s.env.Now), &local.Spent{}, cpu
	host, _ := os.Hostname() // the name is only shown: the copy can do without
	close(s.seen.looked)     // no facts are read for a copy within one host
	disks := [2]string{s.src.Device(), s.dst.Device()}
	for i := range disks {
		s.seen.known(i, host, nil, s.seen.ends[i].peer)
	}
	s.seen.follow(ctx, 0, &reader{s, kernel.Live{}, disks}, measure.Watch{PIDs: []int{os.Getpid()}, Serves: &measure.Serving{Disk: disks[0]}})
	return s.spent
}

// tell gives both ends' samples the counters of the copy.
func (s *session) tell() {
	t, m := s.spent.Times(), s.report.Summary()
	c := model.CopyCount{Took: s.env.Now().Sub(s.began), Reading: t.Read, Writing: t.Write, Committing: t.Commit, CPU: mover.CPUTime() - s.cpu,
		CPUs: runtime.NumCPU(), Bytes: m.Bytes, Files: m.Files, Limit: int64(s.o.Limit)}
	for i := range s.seen.ends {
		s.seen.told(i, c)
	}
}

// reader samples this process in the way in which an agent samples a remote one. It reads the host once
// for both ends.
type reader struct {
	s     *session
	src   kernel.Source
	disks [2]string // "8:16"; "": none of this host's
}

// FollowSampling implements sampler: the other end's samples go to it by themselves.
func (r *reader) FollowSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	in, err := measure.NewSampler(r.src, w, r.s.env.Now)
	if err != nil {
		return nil, fmt.Errorf("watch the copy: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			began := r.s.env.Now()
			x, err := in.Read(ctx)
			if err != nil {
				return
			}
			r.s.tell()
			each(x)
			r.s.seen.add(1, r.atTarget(x))
			select {
			case <-time.After(restAfter(interval, r.s.env.Now().Sub(began))):
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() ([]model.Sample, error) { cancel(); <-done; return nil, nil }, nil
}

// atTarget is a sample of the source's end as the target's, which has another disk.
func (r *reader) atTarget(x model.Sample) model.Sample {
	if x.Server == nil || r.disks[0] == r.disks[1] {
		return x
	}
	c := *x.Server
	c.Disk = nil
	if b, err := r.src.ReadFile("/proc/diskstats"); err == nil && r.disks[1] != "" {
		c.Disk, _ = kernel.ParseDiskOf(b, r.disks[1]) // one without counters has none
	}
	x.Server = &c
	return x
}

// restAfter is the pause after a sample that took so long: where a host takes long to tell its counters,
// that is not to hold the copy up. The shortest copy that is judged has two samples.
func restAfter(interval, took time.Duration) time.Duration {
	const share = 50 // a fiftieth of the time at most
	return max(interval, min(share*took, shortest*3/4))
}
