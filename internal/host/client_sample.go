package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync"
	"time"

	"linerate/internal/failure"
	"linerate/internal/host/alike"
	"linerate/internal/host/delta"
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

// Bounds on one batch of samples, in bytes, and on the memory that reading a stream takes.
const (
	maxBatch     = 3 << 20 // of its message
	maxTexts     = 4 << 20 // of its samples' texts
	readerMemory = 512 << 10
	mostLearnt   = 1 << 20 // of the sample after which others are read
)

// collected are the samples of one sampling that have arrived.
type collected struct {
	since time.Time // when its id became known; zero: not yet

	// Of the goroutine that receives.
	unpack *delta.Reader
	next   int // number of the sample that is next in the stream
	like   alike.Reader[model.Sample]
	learnt struct{ text, bytes int64 } // of the text after which others are read

	mu    sync.Mutex
	all   []numbered
	n     int                // of the samples that arrived
	each  func(model.Sample) // may be nil
	pass  bool               // what each got is not kept
	more  chan struct{}      // gets a token with each sample
	every time.Duration      // how often they were asked for
	last  int                // one more than the highest number that was heard of
	held  int64              // bytes of all
	full  bool               // a sample was dropped because the memory was used up
}

// numbered is a sample with its number in the sampling.
type numbered struct {
	n      int
	sample model.Sample
	rest   int // see batchPush
}

// put keeps a sample of this size if it fits into room.
func (s *collected) put(p numbered, bytes, room int64) {
	s.mu.Lock()
	if len(s.all) >= maxSamples || s.held+bytes > room {
		s.full = true
		s.mu.Unlock()
		return
	}
	if s.n++; !s.pass || s.each == nil {
		s.all, s.held = append(s.all, p), s.held+bytes
	}
	if s.each != nil {
		s.hand(p)
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// heard notes that samples up to a number came, be it that they could not be read.
func (s *collected) heard(to int) {
	s.mu.Lock()
	s.last = max(s.last, to)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// heardTo is one more than the highest number that was heard of.
func (s *collected) heardTo() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// follow passes on the samples that have arrived and those that will.
func (s *collected) follow(each func(model.Sample)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each = each; each == nil {
		return
	}
	for _, p := range s.all {
		s.hand(p)
	}
	if s.pass {
		s.all, s.held = nil, 0
	}
}

// hand gives a sample to who follows; s.mu is held.
func (s *collected) hand(p numbered) {
	p.sample.Next = s.every * time.Duration(1+p.rest)
	s.each(p.sample)
}

func (s *collected) overflowed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

func (s *collected) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// notified takes a notification of the agent.
func (c *Client) notified(name string, params []byte) {
	if name != notifySamples {
		c.dropped("notifications")
		return
	}
	c.decoding.Lock()
	defer c.decoding.Unlock()
	var p batchPush
	err := errLong
	if len(params) <= maxBatch {
		err = decodeStrict(string(params), &p)
	}
	if err == nil {
		err = c.batch(p)
	}
	switch {
	case errors.Is(err, errNobodyAsked):
		c.dropped("samples")
		c.endStray(p.ID)
	case err != nil:
		c.dropped("samples that cannot be read (" + printable(err.Error()) + ")")
	}
}

// strayApart is the least time between two tries to end a sampling that nobody knows.
const strayApart = 5 * time.Second

// endStray has the agent end a sampling that nobody knows: its start was carried out late, or its end
// was not. If that fails, one of its next samples has it tried again.
func (c *Client) endStray(id int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.starting > 0 || !c.ending.IsZero() && now.Sub(c.ending) < strayApart { // one that starts may be that one
		return
	}
	c.ending = now
	go func() { // what is received waits for nothing
		defer failure.OnPanic(c.o.Crashed)
		ctx, cancel := context.WithTimeoutCause(context.Background(), stopTime, fmt.Errorf("%w within %v", errNoAnswer, stopTime))
		defer cancel()
		_, _ = ask(ctx, c, methodSampleStop, idParams{id}) // what comes of it shows
	}()
}

var (
	errLong        = fmt.Errorf("a batch of more than %d MiB", maxBatch>>20)
	errNobodyAsked = errors.New("nobody asked for them")
)

// batch unpacks the samples of a batch and keeps them, each weighed before it is decoded.
func (c *Client) batch(p batchPush) error {
	s, _ := c.expecting(p.ID, 0)
	if s == nil {
		return errNobodyAsked
	}
	if s.unpack == nil {
		s.unpack = delta.NewReader(&c.types.unpack)
	}
	defer s.heard(p.N + p.Count)
	if p.Told < 0 || p.From < 0 || (p.Told > 0 || p.Rest != 0) && p.Count != 1 {
		return fmt.Errorf("sample %d tells %d units from %d on", p.N, p.Told, p.From)
	}
	if p.Rest < 0 || p.Rest >= mostShare {
		return fmt.Errorf("after sample %d %d are left out", p.N, p.Rest)
	}
	if p.N != s.next && (!p.Fresh || p.N < s.next) {
		return fmt.Errorf("sample %d comes where %d was to come", p.N, s.next)
	}
	n, texts := p.N, 0
	err := s.unpack.Unpack(delta.Batch{Fresh: p.Fresh, Bytes: p.Bytes, Data: p.Data}, func(text []byte) error {
		if texts += len(text); texts > maxTexts || n >= p.N+p.Count {
			return fmt.Errorf("they are more than %d, or than %d MiB", p.Count, maxTexts>>20)
		}
		sample, bytes, err := c.sample(s, text)
		if err != nil {
			return err
		}
		one := numbered{n, p.only(sample), p.Rest}
		n++
		// The sample is kept in a slice, whose capacity may be twice its length.
		bytes += 2 * int64(reflect.TypeFor[numbered]().Size())
		if _, room := c.expecting(p.ID, bytes); room > 0 {
			s.put(one, bytes, room)
		}
		return nil
	})
	s.next = n
	return err
}

// sample reads the text of a sample, and bounds the memory that it takes. Most differ from the one
// before in their numbers alone, and share with it what did not change: that is counted twice.
func (c *Client) sample(s *collected, text []byte) (x model.Sample, bytes int64, err error) {
	if x, ok := s.like.Read(text); ok {
		return x, s.learnt.bytes + max(0, int64(len(text))-s.learnt.text), nil // texts in it may be longer
	}
	if bytes, err = weighed(text, reflect.TypeFor[model.Sample](), c.types); err == nil {
		err = decodeStrict(string(text), &x)
	}
	if err != nil || bytes > mostLearnt {
		s.like.Forget()
		return x, bytes, err
	}
	s.like.Learn(text, x)
	s.learnt.text, s.learnt.bytes = int64(len(text)), bytes
	return x, bytes, nil
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
	if s == nil {
		bytes += readerMemory
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
		s.mu.Lock()
		s.every = p.Interval
		s.mu.Unlock()
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
	s, id, err := c.sampleOnce(ctx, sampleParams{Watch: w, Interval: interval, Keep: mostKeep})
	if err != nil {
		return nil, err
	}
	return c.following(ctx, s, id, each), nil
}

// briefFrom is how seldom a view reads a host at least that nobody looks at.
const briefFrom = time.Second

// PassSampling is FollowSampling for who needs each sample once, for as long as a view lasts: none is
// kept, and the returned function returns none. Samples of a second and more may be Partial, so that
// none takes more than BriefBytes on its way; and where there are more than measure.CloseConns connections, or
// BriefConns, some are told one by one.
func (c *Client) PassSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error) {
	p := sampleParams{Watch: w, Interval: interval, Keep: mostKeep, Conns: measure.CloseConns}
	if interval >= briefFrom {
		p.Brief, p.Conns = BriefBytes, BriefConns
	}
	s, id, err := c.sampleOnce(ctx, p)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.pass = true
	s.mu.Unlock()
	return c.following(ctx, s, id, each), nil
}

// following passes on the samples of a sampling, and returns what stops it.
func (c *Client) following(ctx context.Context, s *collected, id int, each func(model.Sample)) func() ([]model.Sample, error) {
	s.follow(each)
	return func() ([]model.Sample, error) {
		// Not the caller's context: the sampling has to be stopped even if that has ended.
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), stopTime, fmt.Errorf("%w within %v", errNoAnswer, stopTime))
		defer cancel()
		return c.stopSampling(ctx, id, s)
	}
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
		if s.heardTo() >= r.Count+r.Dropped { // no more will come
			c.log(fmt.Sprintf("%d of %d samples did not arrive: there is a gap between those that did", n-s.len(), n))
			break
		}
		select {
		case <-s.more:
		case <-c.ended:
			return nil, c.gone()
		case <-ctx.Done():
			return nil, c.failed(fmt.Errorf("%d of %d samples arrived", s.len(), r.Count))
		}
	}
	if r.Dropped > 0 {
		c.log(fmt.Sprintf("%d samples were dropped there while nobody took them", r.Dropped))
	}
	for _, b := range r.Blind {
		c.log(fmt.Sprintf("cannot see %s (%s): %s", b.What, b.WouldShow, b.How))
	}
	if r.Error != "" {
		return nil, c.failed(fmt.Errorf("sampling ended: %s", r.Error))
	}
	out := make([]model.Sample, len(s.all))
	for i, p := range s.all {
		out[i] = p.sample
	}
	return out, nil
}
