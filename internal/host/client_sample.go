package host

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/measure"
	"linerate/internal/model"
)

// maxSamples bounds what one sampling keeps: hours at the usual interval.
const maxSamples = 200_000

// stopTime bounds the end of a sampling.
const stopTime = 5 * time.Second

// collected are the samples of one sampling that have arrived.
type collected struct {
	mu   sync.Mutex
	all  []samplePush
	each func(model.Sample) // may be nil
	more chan struct{}      // gets a token with each sample
}

func (s *collected) put(p samplePush) {
	s.mu.Lock()
	if len(s.all) < maxSamples {
		s.all = append(s.all, p)
	}
	if s.each != nil {
		s.each(p.Sample)
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// follow passes on what has arrived and what will.
func (s *collected) follow(each func(model.Sample)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each = each; each == nil {
		return
	}
	for _, p := range s.all {
		each(p.Sample)
	}
}

func (s *collected) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// notified takes a notification of the agent.
func (c *Client) notified(req *jrpc2.Request) {
	var p samplePush
	if req.Method() != notifySample {
		c.log(fmt.Sprintf("unknown notification %q", req.Method()))
		return
	}
	if err := decodeStrict(req.ParamString(), &p); err != nil {
		c.log(fmt.Sprintf("read sample: %v", err))
		return
	}
	c.collector(p.ID).put(p)
}

// collector makes the entry of a sampling on first use: a sample may arrive before
// the answer that has the sampling's number.
func (c *Client) collector(id int) *collected {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.samples[id]
	if s == nil {
		s = &collected{more: make(chan struct{}, 1)}
		c.samples[id] = s
	}
	return s
}

// StartSampling implements measure.End.
func (c *Client) StartSampling(ctx context.Context, w measure.Watch, interval time.Duration) (func() ([]model.Sample, error), error) {
	return c.FollowSampling(ctx, w, interval, nil)
}

// FollowSampling implements measure.Follower.
func (c *Client) FollowSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	r, err := begin(ctx, c, methodSample, sampleParams{w, interval}, func(ctx context.Context, r idResult) error {
		_, err := c.stopSampling(ctx, r.ID, c.collector(r.ID))
		return err
	})
	if err != nil {
		return nil, err
	}
	s := c.collector(r.ID)
	s.follow(each)
	return func() ([]model.Sample, error) {
		// Not the caller's context: this has to happen when that is over.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stopTime, fmt.Errorf("no answer within %v", stopTime))
		defer cancel()
		return c.stopSampling(ctx, r.ID, s)
	}, nil
}

func (c *Client) stopSampling(ctx context.Context, id int, s *collected) ([]model.Sample, error) {
	r, err := ask(ctx, c, methodSampleStop, idParams{id})
	if err != nil {
		return nil, err
	}
	for s.len() < min(r.Count, maxSamples) {
		select {
		case <-s.more:
		case <-c.ended:
			return nil, c.gone()
		case <-ctx.Done():
			return nil, c.failed(fmt.Errorf("%d of %d samples arrived", s.len(), r.Count))
		}
	}
	c.mu.Lock()
	delete(c.samples, id)
	c.mu.Unlock()
	for _, b := range r.Blind {
		c.log(fmt.Sprintf("cannot see %s (%s): %s", b.What, b.WouldShow, b.How))
	}
	if r.Error != "" {
		return nil, c.failed(fmt.Errorf("sampling ended: %s", r.Error))
	}
	slices.SortFunc(s.all, func(a, b samplePush) int { return a.N - b.N })
	out := make([]model.Sample, len(s.all))
	for i, p := range s.all {
		out[i] = p.Sample
	}
	return out, nil
}
