package copy

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"linerate/internal/explain"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

const (
	// sampledEvery is often enough for a verdict on a few seconds.
	sampledEvery = 200 * time.Millisecond
	// keptSamples is how many samples of an end are kept. When there are more, every second one
	// is dropped and sampling continues at half the rate, so that they cover the whole copy.
	keptSamples = 400
	// lately is how far back the progress line judges.
	lately = 10 * time.Second
	// shortest: a shorter copy is not judged, because opening files and starting streams takes most of it.
	shortest = 2 * time.Second
)

// Limiter is what held a copy back: an id of docs/limiters.md, and what was seen of it.
type Limiter struct {
	ID         model.LimiterID `json:"id"`
	Host       string          `json:"host,omitempty"`
	Text       string          `json:"text"`
	Confidence float64         `json:"confidence"` // 0..1
	// ShareOfCeiling is of what the path could carry; nil: not known.
	ShareOfCeiling *float64 `json:"share_of_ceiling"`
	Evidence       []string `json:"evidence"`
	Advice         string   `json:"advice,omitempty"`
}

// watched collects the samples of both ends of a copy, which explain judges.
type watched struct {
	now    func() time.Time
	began  time.Time
	looked chan struct{} // closed once the hosts' facts are there

	mu   sync.Mutex // guards the fields below
	line model.Fact[unit.BitRate]
	ends [2]watchedEnd
	stop []func()
}

type watchedEnd struct {
	host    string
	facts   *model.Facts
	peer    netip.Addr
	count   model.CopyCount
	samples []model.Sample
	recent  []model.Sample
	first   time.Time // on the host's clock
	offset  time.Duration
	every   int // keeps one sample of so many
	seen    int
}

func newWatched(now func() time.Time) *watched {
	w := &watched{now: now, began: now(), looked: make(chan struct{})}
	for i := range w.ends {
		w.ends[i].every = 1
	}
	return w
}

// told notes the counters of an end's copy.
func (w *watched) told(i int, c model.CopyCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[i].count = c
}

// add takes a sample of an end.
func (w *watched) add(i int, s model.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &w.ends[i]
	if e.seen == 0 {
		e.first, e.offset = s.HostAt, w.now().Sub(w.began)
	}
	s.At = e.offset + s.HostAt.Sub(e.first)
	c := e.count
	s.Copy = &c
	e.recent = append(e.recent, s)
	for len(e.recent) > 2 && e.recent[1].At < s.At-lately {
		e.recent = e.recent[1:]
	}
	if e.seen%e.every == 0 {
		e.samples = append(e.samples, s)
	}
	e.seen++
	if len(e.samples) > keptSamples {
		for k := range len(e.samples) / 2 {
			e.samples[k] = e.samples[2*k]
		}
		e.samples, e.every = e.samples[:len(e.samples)/2], 2*e.every
	}
}

// known notes the host of an end, its facts and its address.
func (w *watched) known(i int, host string, facts *model.Facts, peer netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[i].host, w.ends[i].facts, w.ends[i].peer = host, facts, peer
}

// close ends all sampling.
func (w *watched) close() {
	w.mu.Lock()
	stop := w.stop
	w.stop = nil
	w.mu.Unlock()
	for _, f := range stop {
		f()
	}
}

// verdict judges the whole copy, or its last seconds; false: too little was seen.
func (w *watched) verdict(whole bool) (model.Verdict, bool) {
	w.mu.Lock()
	c := explain.Case{LineRate: w.line, Passive: true}
	for i := range w.ends {
		e := &w.ends[i]
		in := e.recent
		if whole {
			in = e.samples
		}
		in = append([]model.Sample(nil), in...)
		if n := len(in); n > 0 { // the counters may be newer than the last sample
			last := e.count
			in[n-1].Copy = &last
		}
		end := &explain.End{Host: e.host, Facts: e.facts, Samples: in, Peer: e.peer}
		if i == 0 {
			c.Sender = end
		} else {
			c.Receiver = end
		}
	}
	w.mu.Unlock()
	if took(c.Sender) < shortest || took(c.Receiver) < shortest {
		return model.Verdict{}, false
	}
	return explain.Judge(c), true
}

// took is the time that an end's samples cover.
func took(e *explain.End) time.Duration {
	if len(e.Samples) < 2 {
		return 0
	}
	return e.Samples[len(e.Samples)-1].Copy.Took - e.Samples[0].Copy.Took
}

// patience is how long a copy that has ended waits for the facts of its hosts.
const patience = 5 * time.Second

// limiter is what held the whole copy back.
func (w *watched) limiter() *Limiter {
	v, ok := w.verdict(true)
	if ok {
		select {
		case <-w.looked:
			v, ok = w.verdict(true)
		case <-time.After(patience):
		}
	}
	l := &Limiter{ID: model.Undetermined, Evidence: []string{}, Text: "not known: it was over too soon to tell"}
	if !ok && w.now().Sub(w.began) > 2*shortest { // its ends have told nothing more, or hardly began
		l.Text = "not known: too little of it was seen to tell"
	}
	if !ok {
		return l
	}
	l.ID, l.Host, l.Confidence, l.ShareOfCeiling = v.Limiter, v.Host, v.Confidence, v.ShareOfCeiling
	for _, e := range v.Evidence {
		l.Evidence = append(l.Evidence, e.What)
	}
	l.Text = named(v)
	if len(l.Evidence) > 0 {
		l.Text += ": " + l.Evidence[0]
	}
	l.Advice = v.Fix.Advice
	if v.Fix.Kind == model.FixSetting {
		l.Advice = fmt.Sprintf("%s: %s from %q to %q on %s", v.Fix.Advice, v.Fix.Setting, v.Fix.From, v.Fix.To, v.Fix.Host)
	}
	return l
}

// named puts a verdict's limiter into words.
func named(v model.Verdict) string {
	switch {
	case v.Limiter == model.None:
		return "nothing: the path is at its ceiling"
	case v.Limiter == model.Undetermined:
		return "not known"
	case v.Host != "":
		return fmt.Sprintf("%s at %s", v.Limiter, v.Host)
	}
	return string(v.Limiter)
}

// sampler is what sampling needs of an agent.
type sampler interface {
	FollowSampling(ctx context.Context, w measure.Watch, interval time.Duration, each func(model.Sample)) (func() ([]model.Sample, error), error)
}

// sampledAnew is how long one sampling lasts before the next replaces it: an agent keeps what a
// sampling has sent until that ends.
const sampledAnew = time.Minute

// follow samples an end until close.
func (w *watched) follow(ctx context.Context, i int, a sampler, of measure.Watch) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	w.mu.Lock()
	w.stop = append(w.stop, func() { cancel(); <-done })
	w.mu.Unlock()
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			stop, err := a.FollowSampling(ctx, of, sampledEvery, func(s model.Sample) { w.add(i, s) })
			if err != nil {
				return // the copy does not need samples; the result has its own counters
			}
			select {
			case <-ctx.Done():
			case <-time.After(sampledAnew):
			}
			if _, err := stop(); err != nil {
				return
			}
		}
	}()
}
