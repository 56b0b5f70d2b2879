package copy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"linerate/internal/app"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/unit"
)

// verified says how the data of a copy were proven, and what that leaves open.
func (o Options) verified(m move.Summary) string {
	text := "XXH3-128 of every block, taken as it was read and compared before it was written; not read again from the target (--verify full does)"
	if o.Full {
		text = "BLAKE3 of every block, and the target was read again past this host's cache"
	}
	if m.Cloned > 0 {
		text += fmt.Sprintf("; not independent for %s, whose data the file system copied itself", unit.Count(int(m.Cloned), "file"))
	}
	if m.Same > 0 {
		text += fmt.Sprintf("; %s of the same size and time not read (--check compares them)", unit.Count(int(m.Same), "file"))
	}
	if m.Resumed > 0 && !o.Full {
		text += fmt.Sprintf("; of %v that an earlier run had written a sample was read again", unit.Bytes(m.Resumed))
	}
	return text
}

// lostText counts what was lost, by kind.
func lostText(lost map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(lost)) {
		parts = append(parts, fmt.Sprintf("%s %d", k, lost[k]))
	}
	return strings.Join(parts, ", ")
}

// watchEvery is how often the line of a copy is renewed.
const watchEvery = 500 * time.Millisecond

// following calls show every watchEvery while a copy goes on, if somebody watches, until stop. begin,
// if there is one, is called before.
func following(ctx context.Context, p app.Progress, begin func(context.Context), show func()) (stop func()) {
	if !p.Live() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	if begin != nil {
		begin(ctx)
	}
	go func() {
		defer close(ended)
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				show()
			}
		}
	}()
	return func() { cancel(); <-ended; p.End() }
}

// follow shows a copy while it goes on.
func (s *session) follow(ctx context.Context) (stop func()) {
	line := &line{now: s.env.Now, seen: s.seen}
	var total atomic.Pointer[mover.Total]
	count := func(ctx context.Context) {
		go mover.Count(ctx, s.route.Tops, s.o.Exclude, func(t mover.Total) { total.Store(&t) })
	}
	return following(ctx, s.p, count, func() {
		m := s.report.Summary()
		s.p.Tick("copy", line.text(m.Bytes, m, total.Load()))
	})
}

// Took is how long it took.
func (r *Result) Took() time.Duration { return time.Duration(r.TookNs) }
