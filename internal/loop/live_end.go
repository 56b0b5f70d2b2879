package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"linerate/internal/explain"
	"linerate/internal/failure"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/watch"
)

// arrival is one thing that came from a host: a sample, its facts, switch ports, or the loss of it.
type arrival struct {
	at     time.Duration
	sample *model.Sample
	facts  *model.Facts
	tuned  []tune.Entry // with facts: the journal
	heard  []model.SwitchPort
	lost   error
}

// mostArrivals is how many samples may wait for the view to take them: those of a minute.
const mostArrivals = 600

// arrivals is the queue of what came from a host. If it holds too many samples, the oldest are
// dropped: counters only grow, so that the newer samples include what these counted.
type arrivals struct {
	mu      sync.Mutex
	list    []arrival
	samples int
}

func (q *arrivals) put(a arrival) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.list = append(q.list, a)
	if a.sample == nil {
		return
	}
	if q.samples++; q.samples > mostArrivals {
		i := slices.IndexFunc(q.list, func(a arrival) bool { return a.sample != nil })
		q.list = slices.Delete(q.list, i, i+1)
		q.samples--
	}
}

func (q *arrivals) take() []arrival {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.list
	q.list, q.samples = nil, 0
	return out
}

// liveEnd is one host while it is watched. The goroutine of follow writes to in; the view has the rest.
type liveEnd struct {
	LiveEnd
	queues  bool // transmit queues are sampled too
	crashed func()
	in      arrivals
	done    chan struct{}
	now     func() time.Duration
	window  watch.Window
	facts   *model.Facts
	lost    error
	lostAt  time.Duration
	reached bool
	every   atomic.Int64  // nanoseconds between two samples
	paced   chan struct{} // gets a token when every has changed
	doubted chan struct{} // gets a token when the facts are to be read again
	wish    time.Duration // the sampling interval wanted from now on; 0: the slowest
	// tuned is the journal at the time of facts; marks are the changes since the last picture.
	tuned   []tune.Entry
	marks   []watch.Mark
	heard   []model.SwitchPort // the switch ports that the host is plugged into
	factsAt time.Duration      // when the facts came in
	stale   staleness
	memory  memory
	// isSeldom: the host has too many connections for a verdict, as was found at seldomAt.
	isSeldom bool
	seldomAt time.Duration
	asked    uint64 // sum of the addresses that the running sampling covers; only follow uses it
	askedAt  time.Duration
}

// The shortest and the longest time between two attempts to reach a lost host.
const (
	firstWait = time.Second
	mostWait  = 30 * time.Second
)

// follow passes on what the host sends, and reaches it again if it is lost, until ctx ends.
func (e *liveEnd) follow(ctx context.Context) {
	defer close(e.done)
	defer failure.OnPanic(e.crashed)
	wait := firstWait
	for ctx.Err() == nil {
		heard, err := e.session(ctx)
		if ctx.Err() != nil {
			return
		}
		e.in.put(arrival{at: e.now(), lost: err})
		if heard {
			wait = firstWait
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, mostWait)
	}
}

// session reaches the host and passes its samples on until it is lost; heard tells whether there
// was one.
func (e *liveEnd) session(ctx context.Context) (heard bool, err error) {
	agent, err := e.Dial(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = agent.Close() }() // it ends with the view, or is lost
	if err := e.look(ctx, agent); err != nil {
		return false, err
	}
	stop, err := e.sample(ctx, agent)
	if err != nil {
		return false, err
	}
	listening, end := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer end()
	wait.Go(func() {
		defer failure.OnPanic(e.crashed)
		if heard, err := agent.HeardPorts(listening); err == nil && len(heard) > 0 { // it is root's; without it the switch has no name
			e.in.put(arrival{at: e.now(), heard: heard})
		}
	})
	// At moments of its own: the facts of a thousand hosts at once would take more memory than all else.
	look, again := time.NewTimer(rand.N(refresh)), time.NewTicker(turn)
	defer look.Stop()
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			_, err := stop()
			return true, err
		case <-agent.Ended():
			_, err := stop()
			return true, cmp.Or(err, errGone)
		case <-look.C:
			look.Reset(refresh)
			err = e.look(ctx, agent)
		case <-e.doubted:
			err = e.look(ctx, agent)
		case <-e.paced:
			stop, err = e.anew(ctx, agent, stop)
		case <-again.C:
			if e.overdue() {
				stop, err = e.anew(ctx, agent, stop)
			}
		}
		if err != nil && !late(err) {
			return true, err
		}
	}
}

// late reports whether an error means that the agent did not answer in time. That is no loss: it may
// keep samples for us, as an agent does while its broker is down. If it is gone, its connection ends.
func late(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// anew starts a new sampling and then stops the old one.
func (e *liveEnd) anew(ctx context.Context, agent LiveAgent, stop func() ([]model.Sample, error)) (func() ([]model.Sample, error), error) {
	next, err := e.sample(ctx, agent)
	if err != nil {
		return stop, err
	}
	if _, err := stop(); err != nil {
		return next, err
	}
	return next, nil
}

var errGone = errors.New("the agent ended")

// doubt asks for the host's facts to be read again, unless they were read just now.
func (e *liveEnd) doubt() {
	if e.facts == nil || e.now()-e.factsAt < soonest {
		return
	}
	select {
	case e.doubted <- struct{}{}:
	default: // that is asked for already
	}
}

// look reads the host's facts and passes them on.
func (e *liveEnd) look(ctx context.Context, agent LiveAgent) error {
	f, err := agent.Facts(ctx)
	if err != nil {
		return err
	}
	tuned, err := agent.History(ctx)
	if err != nil && ctx.Err() == nil { // only root may read it; without it the facts show changes
		tuned = nil
	}
	e.in.put(arrival{at: e.now(), facts: f, tuned: tuned})
	return nil
}

// asks says what is to be sampled now.
func (e *liveEnd) asks() measure.Watch {
	w := e.Target.watch()
	w.Queues, w.Counters = e.queues, explain.Counters()
	if e.Peers != nil {
		w.Addrs = e.Peers()
	}
	return w
}

// overdue reports whether the running sampling has to be replaced. A sampling with seldom samples lasts
// longer, because the first sample of a new one is larger than all that many seconds add.
func (e *liveEnd) overdue() bool {
	return time.Duration(e.every.Load()) < slowInterval || e.now()-e.askedAt > slowTurn || e.asked != sum(e.asks().Addrs)
}

// sum is a hash of a list of addresses, kept instead of the list: with a thousand hosts there are a
// thousand lists with the addresses of all others.
func sum(addrs []netip.Addr) uint64 {
	h := fnv.New64a()
	for _, a := range addrs {
		b := a.As16()
		_, _ = h.Write(b[:]) // never fails
	}
	return h.Sum64()
}

// sample starts a sampling. While one replaces another both send; the window drops what it has seen.
func (e *liveEnd) sample(ctx context.Context, agent LiveAgent) (stop func() ([]model.Sample, error), err error) {
	w := e.asks()
	e.asked, e.askedAt = sum(w.Addrs), e.now()
	return agent.FollowSampling(ctx, w, time.Duration(e.every.Load()), func(s model.Sample) {
		e.in.put(arrival{at: e.now(), sample: &s})
	})
}

// take processes what came since the last call.
func (e *liveEnd) take() {
	for _, a := range e.in.take() {
		e.add(a)
	}
}

func (e *liveEnd) add(a arrival) {
	switch {
	case a.facts != nil:
		if e.facts != nil {
			e.marks = append(e.marks, changes(e.Name, e.facts, a.facts, e.tuned, a.tuned)...)
		}
		e.facts, e.tuned, e.factsAt = a.facts, a.tuned, a.at
		if e.Name == "" {
			e.Name = a.facts.Hostname
			a.facts.Host = e.Name
		}
		if e.lost != nil || !e.reached { // no rate is computed across the gap
			e.window.Clear()
		}
		e.lost, e.reached = nil, true
	case a.heard != nil:
		e.heard = a.heard
	case a.sample != nil:
		if e.window.Add(*a.sample, a.at) {
			e.memory.keep(e.window.Newest())
		}
	default:
		if e.lost == nil { // each try that fails says so anew
			e.lostAt = a.at
		}
		e.lost = a.lost
		e.memory.giveUp() // what the host had kept is gone
	}
}

// staleAfter is how long after its newest sample the end is stale.
func (e *liveEnd) staleAfter() time.Duration { return max(staleAfter, e.window.Next()+grace) }

// unfit reports whether the end's window cannot be judged now, and why.
func (e *liveEnd) unfit(now time.Duration) (watch.Judgement, bool) {
	last, any := e.window.Last()
	switch {
	case e.lost != nil:
		return watch.Judgement{Named: watch.Named{State: watch.Lost}, Why: fmt.Sprintf("lost %s ago, and tried again: %s", (now - e.lostAt).Round(time.Second), failure.FirstLine(e.lost))}, true
	case any && now-last > e.staleAfter():
		return watch.Judgement{Named: watch.Named{State: watch.Stale}, Why: fmt.Sprintf("%s sent its last sample %s ago", e.Name, (now - last).Round(time.Second))}, true
	case e.window.Covers() < least:
		return watch.Judgement{Named: watch.Named{State: watch.Starting}, Why: "watched for " + e.window.Covers().Round(time.Second).String()}, true
	}
	return watch.Judgement{}, false
}

// host is what the end did in its window.
func (e *liveEnd) host(began time.Time, now time.Duration) watch.Host {
	samples := e.window.Samples()
	older := e.window.Older()
	h := watch.Look(e.Name, older, samples)
	h.Facts, h.Last = e.facts, watch.Newest(older, samples)
	for _, s := range e.heard {
		if name := cmp.Or(s.System, s.Chassis); !slices.Contains(h.Switches, name) {
			h.Switches = append(h.Switches, name)
		}
	}
	for _, m := range e.marks { // the host's clock may differ from ours
		m.At = began.Add(e.factsAt + m.At.Sub(e.facts.Taken))
		h.Marks = append(h.Marks, m)
	}
	e.marks = nil
	if last, ok := e.window.Last(); ok {
		h.Heard, h.Stale = began.Add(last), now-last > e.staleAfter() || e.lost != nil
	} else {
		h.Stale = true
	}
	return h
}
