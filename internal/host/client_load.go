package host

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/load"
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
	each func(model.Sample) // nil: nobody follows
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

// notified takes what an agent sends unasked.
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

// collector is made by whoever comes first: a sample may overtake the answer
// that tells of its sampling.
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
	var r idResult
	end := func(ctx context.Context) error {
		_, err := c.stopSampling(ctx, r.ID, c.collector(r.ID))
		return err
	}
	if err := c.begin(ctx, methodSample, sampleParams{w, interval}, &r, end); err != nil {
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
	var r sampledResult
	if err := c.call(ctx, methodSampleStop, idParams{id}, &r); err != nil {
		return nil, err
	}
	for s.len() < min(r.Count, maxSamples) {
		select {
		case <-s.more:
		case <-c.ended:
			return nil, c.gone()
		case <-ctx.Done():
			return nil, fmt.Errorf("host %s: %d of %d samples arrived", c.ep.Name, s.len(), r.Count)
		}
	}
	c.mu.Lock()
	delete(c.samples, id)
	c.mu.Unlock()
	for _, b := range r.Blind {
		c.log(fmt.Sprintf("cannot see %s (%s): %s", b.What, b.WouldShow, b.How))
	}
	if r.Error != "" {
		return nil, fmt.Errorf("host %s: sampling ended: %s", c.ep.Name, r.Error)
	}
	sort.Slice(s.all, func(i, j int) bool { return s.all[i].N < s.all[j].N })
	out := make([]model.Sample, len(s.all))
	for i, p := range s.all {
		out[i] = p.Sample
	}
	return out, nil
}

// worker implements measure.Worker.
type worker struct {
	c *Client
	r startedResult
}

// StartWorker implements measure.End.
func (c *Client) StartWorker(ctx context.Context, spec load.Spec) (measure.Worker, error) {
	w := &worker{c: c}
	if err := c.begin(ctx, methodWorker, workerParams{spec}, &w.r, w.Stop); err != nil {
		return nil, err
	}
	if spec.Role == load.Sink && !w.r.Listening.Addr.IsValid() {
		return nil, errors.Join(fmt.Errorf("host %s: the sink does not say where it listens", c.ep.Name), w.Stop(ctx))
	}
	return w, nil
}

// PID implements measure.Worker.
func (w *worker) PID() int { return w.r.PID }

// Addr implements measure.Worker.
func (w *worker) Addr() netip.AddrPort { return w.r.Listening.Addr }

// Connected implements measure.Worker.
func (w *worker) Connected(ctx context.Context) (load.Event, error) {
	var e load.Event
	err := w.c.call(ctx, methodConnected, idParams{w.r.ID}, &e)
	return e, err
}

// Go implements measure.Worker.
func (w *worker) Go(ctx context.Context) error {
	return w.c.call(ctx, methodGo, idParams{w.r.ID}, &none{})
}

// Wait implements measure.Worker. A run takes as long as it does: ctx is its
// bound.
func (w *worker) Wait(ctx context.Context) (load.Result, error) {
	var r load.Result
	err := w.c.callUnbounded(ctx, methodWait, idParams{w.r.ID}, &r)
	return r, err
}

// Stop implements measure.Worker.
func (w *worker) Stop(ctx context.Context) error {
	select {
	case <-w.c.ended:
		return nil // a worker does not outlive its agent
	default:
	}
	return w.c.call(ctx, methodWorkerStop, idParams{w.r.ID}, &none{})
}

// lineWriter passes on whole lines of an agent's stderr, without what could
// steer a terminal.
type lineWriter struct {
	tail *tail
	log  func(line string)
	rest []byte
}

// Write implements io.Writer.
func (l *lineWriter) Write(b []byte) (int, error) {
	n := len(b)
	for _, c := range b {
		if c == '\n' || len(l.rest) >= maxTail {
			l.flush()
		}
		if c != '\n' {
			l.rest = append(l.rest, c)
		}
	}
	return n, nil
}

// flush passes on what is there of a line.
func (l *lineWriter) flush() {
	line := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f || r == '\uFFFD' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(l.rest), ""))
	l.rest = l.rest[:0]
	if strings.TrimSpace(line) == "" {
		return
	}
	// A tail takes everything.
	_, _ = l.tail.Write([]byte(line + "\n"))
	l.log(line)
}
