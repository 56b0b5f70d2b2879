package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/chart"
	"linerate/internal/report/document"
	"linerate/internal/stat"
	"linerate/internal/unit"
)

// drawn is one line before it is scaled.
type drawn struct {
	name, class string
	points      []chart.Point
}

// traffic are the charts over time of one run.
func traffic(run model.Run, ceiling *unit.BitRate, samples map[string][]model.Sample) []document.Figure {
	tx, rx := ends(run, samples)
	warm := run.Workload.Warmup
	var out []document.Figure
	for _, f := range []func() (document.Figure, bool){
		func() (document.Figure, bool) { return goodputFigure(tx, rx, warm, ceiling) },
		func() (document.Figure, bool) { return windowFigure(tx, warm) },
		func() (document.Figure, bool) { return rttFigure(tx, rx, warm) },
		func() (document.Figure, bool) { return queueFigure(tx, rx, warm) },
		func() (document.Figure, bool) { return sharesFigure(tx, warm) },
		func() (document.Figure, bool) { return retransFigure(tx, warm) },
	} {
		if fig, ok := f(); ok {
			out = append(out, fig)
		}
	}
	return out
}

// plot is a line chart to be: lines in base units, printed by say.
type plot struct {
	id, title, unit string
	div             float64
	lines           []drawn
	marks           []chart.Mark
	warm            time.Duration
	say             func(float64) string
	cap             float64 // values above are cut off and said so; 0: none
}

// figure draws the lines that have points; ok is false when none has.
func (p plot) figure() (fig document.Figure, ok bool) {
	l := chart.Line{XUnit: "s", YUnit: p.unit, Marks: p.marks, Shade: p.warm.Seconds()}
	each, desc := 1, ""
	for _, d := range p.lines {
		values := ys(d.points, p.warm)
		mid, known := finiteMedian(values)
		if !known {
			continue
		}
		text := fmt.Sprintf("median %s, n = %d", p.say(mid), len(values))
		if p.cap > 0 && mid > p.cap {
			text += ", above the plot"
		}
		points, k := thin(d.points)
		each = max(each, k)
		l.Series = append(l.Series, chart.Series{Name: d.name, Class: d.class, Points: p.scale(points)})
		fig.Legend = append(fig.Legend, legend(d.class, d.name, text))
		desc += d.name + ": " + text + ". "
	}
	l.Figure = chart.Figure{ID: p.id, Title: p.title + " over time", Desc: desc}
	fig.Caption, fig.Panels = p.title, []document.Panel{panel("", l)}
	if each > 1 {
		fig.Note = fmt.Sprintf("Each point is the mean of %d readings.", each)
	}
	return fig, len(l.Series) > 0
}

func (p plot) scale(points []chart.Point) []chart.Point {
	out := make([]chart.Point, len(points))
	for i, q := range points {
		out[i] = chart.Point{X: q.X, Y: q.Y / p.div}
		if p.cap > 0 && q.Y > p.cap {
			out[i].Y = math.NaN()
		}
	}
	return out
}

func sayRate(v float64) string  { return unit.BitRate(v).String() }
func sayBytes(v float64) string { return unit.Bytes(min(v, math.MaxInt64/2)).String() }
func sayTime(v float64) string  { return duration(time.Duration(v)) }

func goodputFigure(tx, rx end, warm time.Duration, ceiling *unit.BitRate) (document.Figure, bool) {
	sent := rates(tx.deltas(func(c model.Conn) int64 { return c.BytesAcked }))
	received := rates(rx.deltas(func(c model.Conn) int64 { return c.BytesReceived }))
	most := max(top(sent), top(received))
	if ceiling != nil && stat.Finite(float64(*ceiling)) {
		most = max(most, float64(*ceiling))
	}
	p := plot{id: "goodput", title: "Goodput", warm: warm, say: sayRate, lines: []drawn{
		{"acknowledged at the sender", "s1", sent}, {"received at the receiver", "s2", received}}}
	p.div, p.unit = rateScale(most)
	if ceiling != nil && stat.Finite(float64(*ceiling)) {
		p.marks = []chart.Mark{{Y: float64(*ceiling) / p.div, Label: "ceiling " + ceiling.String()}}
	}
	return p.figure()
}

// sndWndEnd is where tcpi_snd_wnd ends in struct tcp_info (Linux 5.4,
// include/uapi/linux/tcp.h); a shorter struct has no such field.
const sndWndEnd = 232

func windowFigure(tx end, warm time.Duration) (document.Figure, bool) {
	segments := func(n func(model.Conn) int) func(model.Conn) (float64, bool) {
		return func(c model.Conn) (float64, bool) { return float64(n(c)) * float64(c.SndMSS), c.SndMSS > 0 }
	}
	flight := tx.gauge(sum(segments(func(c model.Conn) int { return c.Unacked })))
	cwnd := tx.gauge(sum(segments(func(c model.Conn) int { return c.Cwnd })))
	window := tx.gauge(sum(func(c model.Conn) (float64, bool) {
		return float64(c.SndWnd), c.InfoLen == 0 || c.InfoLen >= sndWndEnd
	}))
	// A window that is far from limiting would flatten what matters.
	high := 2.5 * max(top(flight), min(top(window), top(cwnd)))
	p := plot{id: "window", title: "Data in flight and the windows that allow it", warm: warm, say: sayBytes, cap: high,
		lines: []drawn{{"in flight", "s1", flight}, {"receiver's window", "s2", window}, {"congestion window", "s3", cwnd}}}
	p.div, p.unit = byteScale(min(high, max(top(flight), top(window), top(cwnd))))
	return p.figure()
}

func rttFigure(tx, rx end, warm time.Duration) (document.Figure, bool) {
	from, note := tx, ""
	if len(tx.samples) == 0 {
		from, note = rx, "Seen from the receiver."
	}
	nanos := func(d func(model.Conn) time.Duration) func(model.Conn) (float64, bool) {
		return func(c model.Conn) (float64, bool) { return float64(d(c)), d(c) > 0 }
	}
	p := plot{id: "rtt", title: "Round-trip time", unit: "ms", div: 1e6, warm: warm, say: sayTime, lines: []drawn{
		{"smoothed", "s1", from.gauge(mean(nanos(func(c model.Conn) time.Duration { return c.RTT })))},
		{"least seen", "s2", from.gauge(mean(nanos(func(c model.Conn) time.Duration { return c.MinRTT })))}}}
	if len(tx.samples) == 0 {
		p.lines = append(p.lines, drawn{"receiver's estimate", "s3", from.gauge(mean(nanos(func(c model.Conn) time.Duration { return c.RcvRTT })))})
	}
	fig, ok := p.figure()
	if note != "" {
		fig.Note = note + " " + fig.Note
	}
	return fig, ok
}

func queueFigure(tx, rx end, warm time.Duration) (document.Figure, bool) {
	if tx.shownBy(model.FromNettop) || rx.shownBy(model.FromNettop) {
		return document.Figure{}, false
	}
	bytes := func(f func(model.Conn) int64) func([]model.Conn) float64 {
		return sum(func(c model.Conn) (float64, bool) { return float64(f(c)), true })
	}
	unsent := tx.gauge(bytes(func(c model.Conn) int64 { return c.NotSent }))
	unread := rx.gauge(bytes(func(c model.Conn) int64 { return c.RecvQ }))
	p := plot{id: "queues", title: "Data waiting for an application or the network", warm: warm, say: sayBytes, lines: []drawn{
		{"written, not yet sent (sender)", "s1", unsent}, {"received, not yet read (receiver)", "s2", unread}}}
	p.div, p.unit = byteScale(max(top(unsent), top(unread)))
	return p.figure()
}

// shownBy tells whether the connections were shown by a system that is not Linux: what it does not
// show is not drawn.
func (e end) shownBy(from model.ConnSource) bool {
	return slices.ContainsFunc(e.samples, func(s model.Sample) bool {
		return slices.ContainsFunc(s.Conns, func(c model.Conn) bool { return c.From == from })
	})
}

// after keeps the samples from the end of the warm-up on, and all of them
// where that would leave nothing to compare.
func (e end) after(warm time.Duration) end {
	for i, s := range e.samples {
		if s.At >= warm && len(e.samples)-i >= 2 {
			return end{e.host, e.samples[i:]}
		}
	}
	return e
}

// sharesFigure tells what the sender's connections waited for. The kernel
// counts the two limited times within busy (net/ipv4/tcp.c,
// tcp_get_info_chrono_stats).
func sharesFigure(tx end, warm time.Duration) (document.Figure, bool) {
	tx = tx.after(warm)
	if tx.shownBy(model.FromNettop) {
		return document.Figure{}, false
	}
	var wall int64
	for i := 1; i < len(tx.samples); i++ {
		wall += int64(tx.samples[i].At-tx.samples[i-1].At) * int64(min(len(tx.samples[i].Conns), len(tx.samples[i-1].Conns)))
	}
	if wall <= 0 {
		return document.Figure{}, false
	}
	share := func(f func(model.Conn) time.Duration) float64 {
		n := total(tx.deltas(func(c model.Conn) int64 { return int64(f(c)) }))
		return min(1, float64(n)/float64(wall))
	}
	busy := share(func(c model.Conn) time.Duration { return c.Busy })
	rwnd := share(func(c model.Conn) time.Duration { return c.RwndLimited })
	sndbuf := share(func(c model.Conn) time.Duration { return c.SndbufLimited })
	parts := []chart.Part{
		{Name: "held back by the receiver's window", Class: "p1", Share: rwnd},
		{Name: "held back by the send buffer", Class: "p2", Share: sndbuf},
		{Name: "busy otherwise (congestion window, path)", Class: "p3", Share: max(0, busy-rwnd-sndbuf)},
		{Name: "nothing to send", Class: "p4", Share: max(0, 1-max(busy, rwnd+sndbuf))},
	}
	source := "tcp_info"
	if tx.shownBy(model.FromEstats) { // which does not tell an idle program from a full buffer
		source = "Windows' extended TCP statistics"
		idle := share(func(c model.Conn) time.Duration { return c.SourceLimited })
		parts = []chart.Part{parts[0],
			{Name: "held back by the congestion window", Class: "p3", Share: max(0, busy-rwnd)},
			{Name: "nothing to send, or no room in the send buffer", Class: "p4", Share: idle},
			{Name: "not told", Class: "p2", Share: max(0, 1-busy-idle)},
		}
	}
	fig := stackFigure("shares", "What the sender's connections spent their time on", parts)
	fig.Note = fmt.Sprintf("Share of connection time from %s; n = %d samples at %s.", source, len(tx.samples), tx.host)
	return fig, true
}

// stackFigure draws parts of a whole with a legend.
func stackFigure(id, title string, parts []chart.Part) document.Figure {
	fig, desc := document.Figure{Caption: title}, ""
	for i := range parts {
		p := &parts[i]
		p.Text = p.Name + ": " + shareText(p.Share)
		fig.Legend = append(fig.Legend, legend(p.Class, p.Name, shareText(p.Share)))
		desc += p.Text + ". "
	}
	s := chart.Stack{Figure: chart.Figure{ID: id, Title: title, Desc: desc}, Parts: parts}
	fig.Panels = []document.Panel{panel("", s)}
	return fig
}

func retransFigure(tx end, warm time.Duration) (document.Figure, bool) {
	if tx.shownBy(model.FromNettop) { // bytes alone
		return document.Figure{}, false
	}
	again := tx.deltas(func(c model.Conn) int64 { return int64(c.TotalRetrans) })
	if len(again) == 0 {
		return document.Figure{}, false
	}
	sent, lost := total(tx.deltas(func(c model.Conn) int64 { return c.DataSegsOut })), total(again)
	text := fmt.Sprintf("%d of %d data segments", lost, sent)
	if sent > 0 {
		text += " (" + shareText(float64(lost)/float64(sent)) + ")"
	}
	if lost == 0 {
		return document.Figure{Caption: "Retransmitted segments", Note: fmt.Sprintf("None: 0 of %d data segments; n = %d samples at %s.", sent, len(tx.samples), tx.host)}, true
	}
	var points []chart.Point
	for _, s := range again {
		points = append(points, chart.Point{X: s.to.Seconds(), Y: float64(s.by) / (s.to - s.from).Seconds()})
	}
	fig, ok := plot{id: "retrans", title: "Retransmitted segments", unit: "per s", div: 1, warm: warm,
		say:   func(v float64) string { return sig(v) + " per second" },
		lines: []drawn{{"retransmitted", "s1", points}}}.figure()
	fig.Note = text + ", warm-up included. " + fig.Note
	return fig, ok
}
