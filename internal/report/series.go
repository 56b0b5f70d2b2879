package report

import (
	"math"
	"net/netip"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/stat"
)

// end is one end of a run as its samples show it.
type end struct {
	host    string
	samples []model.Sample
}

// flow names a connection at one end.
type flow struct{ local, remote netip.AddrPort }

// ends tells which host's samples are the sender's and which the receiver's:
// as the workload names them, else, where a run was only watched, by which
// way its bytes went.
func ends(run model.Run, samples map[string][]model.Sample) (sender, receiver end) {
	w := run.Workload
	pick := func(host string) end {
		return end{host, only(samples[host], w.To)}
	}
	if len(samples[w.Sender]) > 0 || len(samples[w.Receiver]) > 0 {
		return pick(w.Sender), pick(w.Receiver)
	}
	for _, host := range sorted(samples) {
		e := pick(host)
		acked := total(e.deltas(func(c model.Conn) int64 { return c.BytesAcked }))
		received := total(e.deltas(func(c model.Conn) int64 { return c.BytesReceived }))
		switch {
		case acked > received && sender.samples == nil:
			sender = e
		case received > 0 && receiver.samples == nil:
			receiver = e
		}
	}
	return sender, receiver
}

// only keeps the connections with the data address, where any has it.
func only(samples []model.Sample, data netip.Addr) []model.Sample {
	if !data.IsValid() {
		return samples
	}
	match := func(c model.Conn) bool {
		return c.Remote.Addr().Unmap() == data.Unmap() || c.Local.Addr().Unmap() == data.Unmap()
	}
	out, found := make([]model.Sample, len(samples)), false
	for i, s := range samples {
		out[i] = s
		out[i].Conns = nil
		for _, c := range s.Conns {
			if match(c) {
				out[i].Conns, found = append(out[i].Conns, c), true
			}
		}
	}
	if !found {
		return samples
	}
	return out
}

// step is the change of a counter between two samples.
type step struct {
	from, to time.Duration
	by       int64
}

// deltas sums a counter's increase over the connections seen in both of two
// neighbouring samples; a counter that went back is a new connection and
// counts nothing.
func (e end) deltas(counter func(model.Conn) int64) []step {
	var out []step
	for i := 1; i < len(e.samples); i++ {
		a, b := e.samples[i-1], e.samples[i]
		if b.At <= a.At {
			continue
		}
		before := map[flow]int64{}
		for _, c := range a.Conns {
			before[flow{c.Local, c.Remote}] = counter(c)
		}
		s := step{from: a.At, to: b.At}
		for _, c := range b.Conns {
			if was, ok := before[flow{c.Local, c.Remote}]; ok {
				s.by += max(0, counter(c)-was)
			}
		}
		out = append(out, s)
	}
	return out
}

func total(steps []step) (n int64) {
	for _, s := range steps {
		n += s.by
	}
	return n
}

// Carried is the payload that a run carried between two samples of one end.
type Carried struct {
	At    time.Time // by the controller's clock
	Span  time.Duration
	Bytes int64
}

// CarriedBy is what a run's samples say that it carried, step by step, as the chart of its goodput
// has it: what the receiver got, or what its sender had acknowledged where only that was watched.
func CarriedBy(run model.Run, samples map[string][]model.Sample) []Carried {
	tx, rx := ends(run, samples)
	steps := rx.deltas(func(c model.Conn) int64 { return c.BytesReceived })
	if len(steps) == 0 {
		steps = tx.deltas(func(c model.Conn) int64 { return c.BytesAcked })
	}
	out := make([]Carried, len(steps))
	for i, s := range steps {
		out[i] = Carried{run.Started.Add(s.from), s.to - s.from, s.by}
	}
	return out
}

// rates turns steps of bytes into bits per second at the end of each step.
func rates(steps []step) []chart.Point {
	var out []chart.Point
	for _, s := range steps {
		out = append(out, chart.Point{X: s.to.Seconds(), Y: float64(s.by) * 8 / (s.to - s.from).Seconds()})
	}
	return out
}

// gauge reads one value per sample; f returns NaN where there is none.
func (e end) gauge(f func(conns []model.Conn) float64) []chart.Point {
	var out []chart.Point
	for _, s := range e.samples {
		if len(s.Conns) > 0 {
			out = append(out, chart.Point{X: s.At.Seconds(), Y: f(s.Conns)})
		}
	}
	return out
}

// sum adds a value over a run's connections; none of them known is NaN.
func sum(f func(model.Conn) (float64, bool)) func([]model.Conn) float64 {
	return func(conns []model.Conn) float64 {
		t, known := 0.0, false
		for _, c := range conns {
			if v, ok := f(c); ok {
				t, known = t+v, true
			}
		}
		if !known {
			return math.NaN()
		}
		return t
	}
}

// mean averages a value over a run's connections; none of them known is NaN.
func mean(f func(model.Conn) (float64, bool)) func([]model.Conn) float64 {
	return func(conns []model.Conn) float64 {
		t, n := 0.0, 0
		for _, c := range conns {
			if v, ok := f(c); ok {
				t, n = t+v, n+1
			}
		}
		if n == 0 {
			return math.NaN()
		}
		return t / float64(n)
	}
}

// maxPoints is the most points of one line: more than the pixels there are
// would only make the page heavy.
const maxPoints = 600

// thin averages neighbouring points so that at most maxPoints are left, and
// tells how many readings each stands for.
func thin(points []chart.Point) ([]chart.Point, int) { return thinTo(points, maxPoints) }

func thinTo(points []chart.Point, most int) ([]chart.Point, int) {
	k := (len(points) + most - 1) / most
	if k <= 1 {
		return points, 1
	}
	var out []chart.Point
	for i := 0; i < len(points); i += k {
		part := points[i:min(i+k, len(points))]
		p, n := chart.Point{}, 0.0
		for _, q := range part {
			if stat.Finite(q.Y) {
				p.X, p.Y, n = p.X+q.X, p.Y+q.Y, n+1
			}
		}
		if n == 0 {
			out = append(out, chart.Point{X: part[0].X, Y: math.NaN()})
			continue
		}
		out = append(out, chart.Point{X: p.X / n, Y: p.Y / n})
	}
	return out, k
}

// ys are the values after a moment: what a legend's median is of.
func ys(points []chart.Point, after time.Duration) []float64 {
	var out []float64
	for _, p := range points {
		if p.X > after.Seconds() && stat.Finite(p.Y) {
			out = append(out, p.Y)
		}
	}
	return out
}

func top(points []chart.Point) float64 {
	t := 0.0
	for _, p := range points {
		if stat.Finite(p.Y) {
			t = max(t, p.Y)
		}
	}
	return t
}
