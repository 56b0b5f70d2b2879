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
			p.tick(work, runText(r-requests, b-bytes, longest, now.Sub(last), takes-now.Sub(began), seen.LimitedBy(now.Sub(last))))
			requests, bytes, last = r, b, now
		}
	}()
	return seen, func() { close(over); <-ended; p.end() }
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

// tick replaces the line about the same work. Where nobody watches a terminal it
// says nothing: a log has no use for it.
func (p *progress) tick(work, text string) {
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
	fmt.Fprintf(p.w, "%s%5.1fs  %s", before, p.now().Sub(p.started).Seconds(), shorten(work+": "+text, p.width-9))
}

// watchTCP shows what arrives at the receivers of so many directions, on a
// terminal. What it returns gets the samples of a direction's receiver; nil where
// nobody watches.
func (p *progress) watchTCP(directions int, takes time.Duration) func(direction int, s model.Sample) {
	if !p.live {
		return nil
	}
	var mu sync.Mutex
	var began, at time.Time
	var before int64
	got := make([]int64, directions)
	return func(direction int, s model.Sample) {
		mu.Lock()
		defer mu.Unlock()
		if len(s.Conns) == 0 {
			return
		}
		got[direction] = 0
		for _, c := range s.Conns {
			got[direction] += c.BytesReceived
		}
		var all int64
		for _, n := range got {
			all += n
		}
		now := p.now()
		switch {
		case began.IsZero():
			began, at, before = now, now, all
			return
		case now.Sub(at) < watchEvery:
			return
		}
		p.tick("arrives", arrivalText(all-before, now.Sub(at), takes-now.Sub(began)))
		at, before = now, all
	}
}

// arrivalText is what has arrived in a while.
func arrivalText(bytes int64, while, left time.Duration) string {
	text := unit.BitRate(float64(bytes) * 8 / while.Seconds()).String()
	if left > 0 {
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text
}
