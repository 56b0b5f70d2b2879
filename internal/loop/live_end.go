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

// arrival is what comes from a host: a sample, or facts, or the end of the connection to it.
type arrival struct {
	at     time.Duration
	sample *model.Sample
	facts  *model.Facts
	tuned  []tune.Entry // with facts: the journal
	heard  []model.SwitchPort
	lost   error
}

// mostArrivals is how many samples wait for the view at most: a minute of them.
const mostArrivals = 600

// arrivals is what came in and was not taken yet. Of too many samples the oldest go: counters only
// grow, so that the newest have it all.
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

// liveEnd is one host while it is watched. follow fills in, everything else belongs to the view.
type liveEnd struct {
	LiveEnd
	queues  bool // are counted
	in      arrivals
	done    chan struct{}
	now     func() time.Duration
	window  watch.Window
	facts   *model.Facts
	lost    error
	lostAt  time.Duration
	reached bool
	every   atomic.Int64  // nanoseconds between two samples
	paced   chan struct{} // gets a token when every is another
	doubted chan struct{} // gets a token when the facts are to be read again
	wish    time.Duration // how often it should be read from now on; 0: as seldom as any
	// tuned is the journal as it was with the facts, marks what changed since the last picture.
	tuned   []tune.Entry
	marks   []watch.Mark
	heard   []model.SwitchPort // the switch ports that the host is plugged into
	factsAt time.Duration      // when the facts came in
	stale   staleness
	memory  memory
	asked   uint64 // sum of the addresses that the sampling that runs is of, of follow alone
	askedAt time.Duration
}

// The least and the most time between two tries to reach a host that is lost.
const (
	firstWait = time.Second
	mostWait  = 30 * time.Second
)

// follow passes on what the host sends until ctx ends, and reaches for it again when it is lost.
func (e *liveEnd) follow(ctx context.Context) {
	defer close(e.done)
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

// late tells whether an error is of an agent that does not answer in time. It may keep samples for
// us meanwhile, as one does whose broker is away; if it is gone, its connection ends.
func late(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// anew has a sampling take the place of another.
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

// doubt has the host's facts read again unless they just were.
func (e *liveEnd) doubt() {
	if e.facts == nil || e.now()-e.factsAt < soonest {
		return
	}
	select {
	case e.doubted <- struct{}{}:
	default: // they are about to be
	}
}

// look passes on the host's facts.
func (e *liveEnd) look(ctx context.Context, agent LiveAgent) error {
	f, err := agent.Facts(ctx)
	if err != nil {
		return err
	}
	tuned, err := agent.History(ctx)
	if err != nil && ctx.Err() == nil { // it is root's; without it a change is seen in the facts
		tuned = nil
	}
	e.in.put(arrival{at: e.now(), facts: f, tuned: tuned})
	return nil
}

// asks is what is to be sampled now.
func (e *liveEnd) asks() measure.Watch {
	w := e.Target.watch()
	w.Queues, w.Counters = e.queues, explain.Counters()
	if e.Peers != nil {
		w.Addrs = e.Peers()
	}
	return w
}

// overdue tells that another sampling has to take the place of the one that runs: where a host is read
// seldom, a sampling begins with more than it sends in many seconds, so that it lasts longer.
func (e *liveEnd) overdue() bool {
	return time.Duration(e.every.Load()) < slowInterval || e.now()-e.askedAt > slowTurn || e.asked != sum(e.asks().Addrs)
}

// sum stands for a list of addresses, of which each host of a site is asked for those of all others: the
// lists themselves would be a list of a thousand for each of a thousand.
func sum(addrs []netip.Addr) uint64 {
	h := fnv.New64a()
	for _, a := range addrs {
		b := a.As16()
		_, _ = h.Write(b[:]) // never fails
	}
	return h.Sum64()
}

// sample starts a sampling. While one takes the place of another both send; the view drops what
// it has seen already.
func (e *liveEnd) sample(ctx context.Context, agent LiveAgent) (stop func() ([]model.Sample, error), err error) {
	w := e.asks()
	e.asked, e.askedAt = sum(w.Addrs), e.now()
	return agent.FollowSampling(ctx, w, time.Duration(e.every.Load()), func(s model.Sample) {
		e.in.put(arrival{at: e.now(), sample: &s})
	})
}

// take adds what came in since the last time.
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
		if e.lost != nil || !e.reached { // what was before the gap does not count with what is after it
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
		e.lost, e.lostAt = a.lost, a.at
		e.memory.giveUp() // what the host had kept is gone
	}
}

// staleAfter is how long after its newest sample what the end sent is old.
func (e *liveEnd) staleAfter() time.Duration { return max(staleAfter, e.window.Next()+grace) }

// unfit says why the end's window cannot be judged now.
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
	for _, m := range e.marks { // the host's clock may be another
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
