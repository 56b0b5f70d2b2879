package experiment

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/study/file"
)

// sampleEvery is how often both ends are sampled during a run.
const sampleEvery = 100 * time.Millisecond

// pair is one sender with its receiver.
type pair struct{ from, to *Host }

// pairs are the ends of a workload over TCP: each of the many with the one.
func (x *Experiment) pairs(w model.StudyWorkload) []pair {
	senders, receivers := w.Senders, w.Receivers
	if n := w.Clients; n > 0 {
		if len(senders) > 1 {
			senders = senders[:min(n, len(senders))]
		} else {
			receivers = receivers[:min(n, len(receivers))]
		}
	}
	var out []pair
	for _, s := range senders {
		for _, r := range receivers {
			from, err1 := x.host(s)
			to, err2 := x.host(r)
			if errors.Join(err1, err2) == nil {
				out = append(out, pair{from, to})
			}
		}
	}
	return out
}

// everyPair is every way that data takes in this study, whatever the workload.
func (x *Experiment) everyPair() []pair {
	var out []pair
	for _, w := range x.File.Workloads {
		w.Clients = 0
		for _, p := range x.pairs(w) {
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// route is the data path of a pair, found once.
func (x *Experiment) route(ctx context.Context, p pair) (from, to netip.Addr, err error) {
	key := [2]string{p.from.Name, p.to.Name}
	if r, ok := x.routes[key]; ok {
		return r[0], r[1], nil
	}
	from, to, err = x.Route(ctx, p.from, p.to)
	if err != nil {
		return from, to, fmt.Errorf("find the data path from %s to %s: %w", p.from.Name, p.to.Name, err)
	}
	x.routes[key] = [2]netip.Addr{from, to}
	return from, to, nil
}

// work is what was measured of one run of a workload.
type work struct {
	kind  string
	runs  []model.Run // one of each pair
	pairs []pair
	alone []aloneRun
	// links by host: the interface that carries the data, and its rate.
	links map[*Host]*model.NIC
}

// measure makes one run of a workload.
func (x *Experiment) measure(ctx context.Context, label string, w model.StudyWorkload) (*work, error) {
	if w.Kind == file.Copy {
		return x.measureCopy(ctx, label, w)
	}
	if w.Kind != file.TCP {
		return x.measureAlone(ctx, label, w)
	}
	m := &work{kind: w.Kind, pairs: x.pairs(w), links: map[*Host]*model.NIC{}}
	if len(m.pairs) == 0 {
		return nil, fmt.Errorf("run %s: it has no pair of a sender and a receiver", w.Name)
	}
	for _, p := range m.pairs {
		from, to, err := x.route(ctx, p)
		if err != nil {
			return nil, err
		}
		m.links[p.from], m.links[p.to] = nicAt(p.from.last, from), nicAt(p.to.last, to)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	together := newBarrier(len(m.pairs))
	m.runs = make([]model.Run, len(m.pairs))
	errs := make([]error, len(m.pairs))
	var wg sync.WaitGroup
	for i, p := range m.pairs {
		wg.Go(func() {
			m.runs[i], errs[i] = measure.Run(ctx, x.workload(w, p), measure.Ends{Sender: p.from.agent, Receiver: p.to.agent},
				measure.Options{Label: label, Interval: sampleEvery, Now: x.Now, Barrier: together.wait})
			if errs[i] != nil {
				cancel(errs[i]) // fewer clients would be another workload
			}
		})
	}
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	return m, nil
}

// workload is what one pair of a workload over TCP does.
func (x *Experiment) workload(w model.StudyWorkload, p pair) model.Workload {
	r := x.routes[[2]string{p.from.Name, p.to.Name}]
	return model.Workload{
		Sender: p.from.At, Receiver: p.to.At, From: r[0], To: r[1], Streams: max(1, w.Streams), Duration: w.Warmup + w.Duration, Warmup: w.Warmup,
		CC: w.Congestion, SourceUse: model.SourceUse{Rate: w.Rate, SendBuffer: w.SendBuffer, WriteSize: w.WriteSize},
		SinkUse: model.SinkUse{RecvBuffer: w.RecvBuffer}, Dialogue: model.Dialogue{Exchange: w.Exchange, NoDelay: w.NoDelay},
	}
}

// barrier lets n wait until all are there.
type barrier struct {
	mu   sync.Mutex
	left int
	all  chan struct{}
}

func newBarrier(n int) *barrier { return &barrier{left: n, all: make(chan struct{})} }

func (b *barrier) wait(ctx context.Context) error {
	b.mu.Lock()
	if b.left--; b.left == 0 {
		close(b.all)
	}
	b.mu.Unlock()
	select {
	case <-b.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hosts of the work, each once.
func (m *work) hosts() []*Host {
	var out []*Host
	add := func(h *Host) {
		if !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	for _, p := range m.pairs {
		add(p.from)
		add(p.to)
	}
	for _, a := range m.alone {
		add(a.host)
	}
	return out
}

// samplesOf are those of one host: of the first run that has any, which shows the
// machine, and the connections of all runs are found by connsOf.
func (m *work) samplesOf(h *Host) []model.Sample {
	for _, r := range m.runs {
		if s := r.Samples[h.At]; len(s) > 0 {
			return s
		}
	}
	for _, a := range m.alone {
		if a.host == h {
			return a.samples
		}
	}
	return nil
}

// thinned is one sample a second of each host, and the last: what a bundle of a
// study keeps.
func (m *work) thinned() map[string][]model.Sample {
	out := map[string][]model.Sample{}
	for _, h := range m.hosts() {
		all, next := m.samplesOf(h), time.Duration(0)
		for i, s := range all {
			if s.At < next && i < len(all)-1 {
				continue
			}
			s.Tasks = nil // what threads did is in the figures
			out[h.At] = append(out[h.At], s)
			next = s.At + time.Second
		}
	}
	return out
}
