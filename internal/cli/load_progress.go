package cli

import (
	"fmt"
	"sync"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// watchEvery is how often the line of a load is renewed.
const watchEvery = 500 * time.Millisecond

// watch shows a run while it goes on, on a terminal: rate, longest latency, time left
// and what holds it. It returns what the run is to tell, nil where nobody watches,
// and what ends it.
func (p *progress) watch(work string, takes time.Duration) (*block.Progress, func()) {
	if !p.live {
		return nil, func() {}
	}
	seen, over, ended := &block.Progress{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		began, last := p.now(), p.now()
		var requests, bytes int64
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
			}
			now := p.now()
			r, b, longest := seen.Look()
			p.Tick(work, runText(r-requests, b-bytes, longest, now.Sub(last), takes-now.Sub(began), seen.LimitedBy(now.Sub(last))))
			requests, bytes, last = r, b, now
		}
	}()
	return seen, func() { close(over); <-ended; p.End() }
}

// runText is what has happened in a while.
func runText(requests, bytes int64, longest, while, left time.Duration, by string) string {
	if while <= 0 {
		return ""
	}
	text := fmt.Sprintf("%.0f requests/s, %v/s", float64(requests)/while.Seconds(), unit.Bytes(float64(bytes)/while.Seconds()))
	if longest > 0 {
		text += fmt.Sprintf(", longest %v", short(int64(longest)))
	}
	if left > 0 {
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if by != "" {
		text += ", held by " + by
	}
	return text
}

// Tick replaces the line about the same work. Where nobody watches a terminal it
// says nothing: a log has no use for it.
func (p *progress) Tick(work, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live {
		return
	}
	before := ""
	switch p.work {
	case work:
		before = "\r\x1b[K"
	case "":
	default:
		before = "\n"
	}
	p.work = work
	fmt.Fprintf(p.w, "%s%5.1fs  %s", before, p.now().Sub(p.began).Seconds(), shorten(work+": "+text, p.width-9))
}

// watchTCP shows what arrives at the receivers of so many directions, on a terminal,
// and what held their senders. What it returns gets the samples of a direction's ends;
// nil where nobody watches.
func (p *progress) watchTCP(directions int, takes time.Duration) func(direction int, receives bool, s model.Sample) {
	if !p.live {
		return nil
	}
	var mu sync.Mutex
	var began, at time.Time
	var before int64
	var waited tcpWaits
	got, sent := make([]int64, directions), make([]tcpWaits, directions)
	return func(direction int, receives bool, s model.Sample) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case len(s.Conns) == 0:
			return
		case !receives:
			sent[direction] = waitsOf(s.Conns)
			return
		}
		got[direction] = 0
		for _, c := range s.Conns {
			got[direction] += c.BytesReceived
		}
		var all int64
		var held tcpWaits
		for i, n := range got {
			all += n
			held.add(sent[i])
		}
		now := p.now()
		switch {
		case began.IsZero():
			began, at, before, waited = now, now, all, held
			return
		case now.Sub(at) < watchEvery:
			return
		}
		p.Tick("arrives", arrivalText(all-before, now.Sub(at), takes-now.Sub(began), held.since(waited, now.Sub(at))))
		at, before, waited = now, all, held
	}
}

// arrivalText is what has arrived in a while.
func arrivalText(bytes int64, while, left time.Duration, by string) string {
	text := unit.BitRate(float64(bytes) * 8 / while.Seconds()).String()
	if left > 0 {
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if by != "" {
		text += ", held by " + by
	}
	return text
}

// tcpWaits is how long connections had something to send, and how long of that they
// had to wait, added up (tcp_info: tcpi_busy_time and what it contains).
type tcpWaits struct {
	conns                int
	busy, window, buffer time.Duration
}

func waitsOf(conns []model.Conn) tcpWaits {
	w := tcpWaits{conns: len(conns)}
	for _, c := range conns {
		w.busy, w.window, w.buffer = w.busy+c.Busy, w.window+c.RwndLimited, w.buffer+c.SndbufLimited
	}
	return w
}

func (w *tcpWaits) add(x tcpWaits) {
	w.conns += x.conns
	w.busy, w.window, w.buffer = w.busy+x.busy, w.window+x.window, w.buffer+x.buffer
}

// since says what most of the time of a while went to; empty: the senders were not
// seen at both its ends. It is what the kernel saw of its own waiting: why a window
// was shut is for explain to find.
func (w tcpWaits) since(x tcpWaits, while time.Duration) string {
	all := time.Duration(w.conns) * while
	if w.conns == 0 || w.conns != x.conns {
		return ""
	}
	busy, window, buffer := w.busy-x.busy, w.window-x.window, w.buffer-x.buffer
	path, idle := busy-window-buffer, all-busy
	switch max(path, idle, window, buffer) {
	case window:
		return "the receive window"
	case buffer:
		return "the send buffer"
	case idle:
		return "the sending program"
	}
	return "the path and the CPUs"
}
