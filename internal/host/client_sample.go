package host

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
)

// maxSamples bounds what one sampling keeps: hours at the usual interval.
const maxSamples = 200_000

// Memory for the samples of a host, in bytes after decoding. A sample of 128 cores and 100
// connections is estimated at 100 kB, and roomPerSecond holds ten of those, so that only an
// agent that floods its controller exceeds both.
const (
	sampleRoom    = 24 << 20 // for any sampling
	roomPerSecond = 1 << 20  // more for each second that it lasts
	earlyRoom     = 2 << 20  // for samples that arrive before the id of their sampling
)

// stopTime bounds the end of a sampling.
const stopTime = 5 * time.Second

// collected are the samples of one sampling that have arrived.
type collected struct {
	since time.Time // when its id became known; zero: not yet
	mu    sync.Mutex
	all   []samplePush
	each  func(model.Sample) // may be nil
	more  chan struct{}      // gets a token with each sample
	held  int64              // bytes of all
	full  bool               // a sample was dropped because the memory was used up
}

// put keeps a sample of this size if it fits into room.
func (s *collected) put(p samplePush, bytes, room int64) {
	s.mu.Lock()
	if len(s.all) >= maxSamples || s.held+bytes > room {
		s.full = true
		s.mu.Unlock()
		return
	}
	s.all, s.held = append(s.all, p), s.held+bytes
	if s.each != nil {
		s.each(p.Sample)
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// follow passes on the samples that have arrived and those that will.
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

func (s *collected) overflowed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

func (s *collected) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// notified takes a notification of the agent.
func (c *Client) notified(name string, params []byte) {
	if name != notifySample {
		c.dropped("notifications")
		return
	}
	c.decoding.Lock()
	defer c.decoding.Unlock()
	bytes, err := weigh(params, reflect.TypeFor[samplePush]())
	var p samplePush
	if err == nil {
		err = decodeStrict(string(params), &p)
	}
	if err != nil {
		c.dropped("samples that cannot be read (" + printable(err.Error()) + ")")
		return
	}
	// The sample is kept in a slice, whose capacity may be twice its length.
	bytes += 2 * int64(reflect.TypeFor[samplePush]().Size())
	if s, room := c.expecting(p.ID, bytes); s != nil {
		s.put(p, bytes, room)
		return
	}
	c.dropped("samples")
}

// expecting returns what collects the samples of an id, and the memory for them; nil if no
// sampling has that id. While a sampling starts, a sample of an unknown id may be its first.
func (c *Client) expecting(id int, bytes int64) (s *collected, room int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s = c.samples[id]; s != nil && !s.since.IsZero() {
		lasted := time.Since(s.since) // with its monotonic reading
		return s, sampleRoom/int64(len(c.samples)) + int64(lasted.Seconds()*roomPerSecond)
	}
	if c.starting == 0 || c.early+bytes > earlyRoom {
		return nil, 0
	}
	if s == nil {
		s = newCollected()
		c.samples[id] = s
	}
	c.early += bytes
	return s, earlyRoom
}

func newCollected() *collected { return &collected{more: make(chan struct{}, 1)} }

// sampleOnce starts a sampling. Its samples are kept from here on, even those that arrive
// before the answer with its id.
func (c *Client) sampleOnce(ctx context.Context, p sampleParams) (s *collected, id int, err error) {
	c.mu.Lock()
	c.starting++
	c.mu.Unlock()
	r, err := begin(ctx, c, methodSample, p, func(ctx context.Context, r idResult) error {
		_, err := c.stopSampling(ctx, r.ID, c.adopt(r.ID))
		return err
	})
	if err == nil {
		s = c.adopt(r.ID)
	}
	c.started()
	return s, r.ID, err
}

// started drops samples of unknown ids once no sampling is about to start.
func (c *Client) started() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.starting--; c.starting == 0 {
		maps.DeleteFunc(c.samples, func(_ int, s *collected) bool { return s.since.IsZero() })
		c.early = 0
	}
}

// adopt returns the entry of a sampling whose id is known.
func (c *Client) adopt(id int) *collected {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.samples[id]
	if s == nil {
		s = newCollected()
		c.samples[id] = s
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	return s
}

// StartSampling implements measure.End.
func (c *Client) StartSampling(ctx context.Context, w measure.Watch, interval time.Duration) (func() ([]model.Sample, error), error) {
	return c.FollowSampling(ctx, w, interval, nil)
}

// FollowSampling implements measure.Follower.
func (c *Client) FollowSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	s, id, err := c.sampleOnce(ctx, sampleParams{w, interval})
	if err != nil {
		return nil, err
	}
	s.follow(each)
	return func() ([]model.Sample, error) {
		// Not the caller's context: the sampling has to be stopped even if that has ended.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stopTime, fmt.Errorf("no answer within %v", stopTime))
		defer cancel()
		return c.stopSampling(ctx, id, s)
	}, nil
}

func (c *Client) stopSampling(ctx context.Context, id int, s *collected) ([]model.Sample, error) {
	defer func() {
		c.mu.Lock()
		delete(c.samples, id)
		c.mu.Unlock()
	}()
	r, err := ask(ctx, c, methodSampleStop, idParams{id})
	if err != nil {
		return nil, err
	}
	for n := r.Count; s.len() < n; {
		if s.overflowed() {
			return nil, c.failed(fmt.Errorf("its samples took more than %d MiB and %d KiB a second, of which %d of %d are kept: watch fewer connections, or at a longer interval",
				sampleRoom>>20, roomPerSecond>>10, s.len(), r.Count))
		}
		select {
		case <-s.more:
		case <-c.ended:
			return nil, c.gone()
		case <-ctx.Done():
			return nil, c.failed(fmt.Errorf("%d of %d samples arrived", s.len(), r.Count))
		}
	}
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
