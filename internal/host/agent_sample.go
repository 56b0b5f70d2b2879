package host

import (
	"context"
	"fmt"
	"time"

	"linerate/internal/measure"
)

// maxSamplers bounds the samplings that run at once: one for each direction of each load with
// an end on this host.
const maxSamplers = 64

// minInterval keeps sampling from becoming a load of its own.
const minInterval = 10 * time.Millisecond

// sampling is one running sampler.
type sampling struct {
	cancel context.CancelFunc
	done   chan struct{}
	count  int // read this and err only after done
	err    error
	reader *measure.Sampler // read its Blind only after done
}

func (a *agent) startSampling(ctx context.Context, p sampleParams) (idResult, error) {
	if p.Interval < minInterval || p.Interval > time.Hour {
		return idResult{}, fmt.Errorf("start sampling: interval %v, want %v to an hour", p.Interval, minInterval)
	}
	reader, err := measure.NewSampler(a.src, p.Watch, a.o.Now)
	if err != nil {
		return idResult{}, err
	}
	first, err := reader.Read(ctx)
	if err != nil {
		return idResult{}, err
	}
	run, cancel := context.WithCancel(context.Background())
	s := &sampling{cancel: cancel, done: make(chan struct{}), reader: reader}
	id, err := a.samples.add(s)
	if err != nil {
		cancel()
		return idResult{}, err
	}
	go func() {
		defer close(s.done)
		if err := s.send(run, a, samplePush{ID: id, Sample: first}); err != nil {
			s.err = err
			return
		}
		s.err = s.loop(run, a, id, p.Interval)
	}()
	return idResult{id}, nil
}

// loop takes samples at fixed times; a time that was missed is skipped, not made up for.
func (s *sampling) loop(ctx context.Context, a *agent, id int, interval time.Duration) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		sample, err := s.reader.Read(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.send(ctx, a, samplePush{ID: id, N: n, Sample: sample}); err != nil {
			return err
		}
	}
}

func (s *sampling) send(ctx context.Context, a *agent, p samplePush) error {
	if err := a.push(ctx, notifySample, p); err != nil {
		return fmt.Errorf("send sample %d: %w", p.N, err)
	}
	s.count++
	return nil
}

// stop ends the sampling and waits for its last reading.
func (s *sampling) stop() sampledResult {
	s.cancel()
	<-s.done
	r := sampledResult{Count: s.count, Blind: s.reader.Blind()}
	if s.err != nil {
		r.Error = s.err.Error()
	}
	return r
}

func (a *agent) stopSampling(_ context.Context, p idParams) (sampledResult, error) {
	s, ok := a.samples.remove(p.ID)
	if !ok {
		return sampledResult{}, fmt.Errorf("stop sampling %d: there is none", p.ID)
	}
	return s.stop(), nil
}
