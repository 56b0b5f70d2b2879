package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"linerate/internal/app"
	"linerate/internal/load/block"
	"linerate/internal/load/worker"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// watchEvery is how often the line of a load is renewed.
const watchEvery = 500 * time.Millisecond

// follow shows a load on storage while it goes on, where somebody watches: rate, longest
// latency, time left and what holds it. look tells what was completed since the load
// began; its longest latency and what holds it are of the while since the last look.
func (s *session) follow(ctx context.Context, work string, takes time.Duration, look func(context.Context, time.Duration) worker.Work) (stop func()) {
	every, watcher := watching(s.p)
	if every == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		began := s.env.Now()
		last := began
		var before worker.Work
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			all := look(ctx, s.env.Now().Sub(last))
			now := s.env.Now()
			if while := now.Sub(last); watcher != nil && while > 0 {
				watcher.Interval(intervalOf(work, all, before, now.Sub(began), while))
			} else {
				s.p.Tick(work, runText(all, before, while, takes-now.Sub(began)))
			}
			before, last = all, now
		}
	}()
	return func() { cancel(); <-ended; s.p.End() }
}

// watch follows the runs of this process.
func (s *session) watch(ctx context.Context) func(string, time.Duration) (*block.Progress, func()) {
	return func(work string, takes time.Duration) (*block.Progress, func()) {
		if every, _ := watching(s.p); every == 0 {
			return nil, func() {} // the run need not tell of itself
		}
		seen := &block.Progress{}
		return seen, s.follow(ctx, work, takes, func(_ context.Context, while time.Duration) worker.Work {
			requests, bytes, longest := seen.Look()
			return worker.Work{Requests: requests, Bytes: bytes, Longest: longest, HeldBy: seen.LimitedBy(while)}
		})
	}
}

// runText is what has happened in a while.
func runText(all, before worker.Work, while, left time.Duration) string {
	if while <= 0 {
		return ""
	}
	text := fmt.Sprintf("%.0f requests/s, %v/s", float64(all.Requests-before.Requests)/while.Seconds(), unit.Bytes(float64(all.Bytes-before.Bytes)/while.Seconds()))
	if all.Longest > 0 {
		text += fmt.Sprintf(", longest %v", unit.Short(all.Longest))
	}
	return text + leftText(left, all.HeldBy)
}

// leftText is how long a load still takes, and what holds it.
func leftText(left time.Duration, by string) (text string) {
	if left > 0 {
		text = fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if by != "" {
		text += ", held by " + by
	}
	return text
}

// watchTCP shows what arrives at the receivers of so many directions, and what held
// their senders. What it returns gets the samples of a direction's ends; nil where
// nobody watches.
func watchTCP(p app.Progress, clock func() time.Time, directions int, takes time.Duration) func(direction int, receives bool, s model.Sample) {
	every, watcher := watching(p)
	if every == 0 {
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
		now := clock()
		switch {
		case began.IsZero():
			began, at, before, waited = now, now, all, held
			return
		case now.Sub(at) < every:
			return
		}
		while := now.Sub(at)
		bytes, by := float64(all-before)/while.Seconds(), held.since(waited, while)
		if watcher != nil {
			watcher.Interval(Interval{V: 1, Work: "arrives", At: now.Sub(began), For: while, BytesPerS: bytes, HeldBy: by})
		} else {
			p.Tick("arrives", unit.BitRate(8*bytes).String()+leftText(takes-now.Sub(began), by))
		}
		at, before, waited = now, all, held
	}
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
