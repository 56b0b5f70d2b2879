package copy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"linerate/internal/move"
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
		text += fmt.Sprintf("; %s of the same size and time were not read (--check compares them)", unit.Count(int(m.Same), "file"))
	}
	return text
}

// heldBy names what most of the time in flight was spent in. It knows the two ends alone:
// whether a disk, its file system or this host's CPUs are behind it is not told apart.
func heldBy(r *Result, limit unit.Bytes) string {
	t := r.Times
	all := t.Read + t.Write + t.Commit
	if all == 0 || r.Moved.Bytes == 0 {
		return ""
	}
	if took := time.Duration(r.TookNs).Seconds(); limit > 0 && float64(r.Moved.Bytes)/took > 0.9*float64(limit) {
		return fmt.Sprintf("--limit %v/s", limit)
	}
	share := func(d time.Duration) string {
		return fmt.Sprintf("%.0f%% of the time in flight", 100*float64(d)/float64(all))
	}
	switch {
	case t.Read > t.Write+t.Commit:
		return "reading the source and hashing it (" + share(t.Read) + ")"
	case t.Write+t.Commit > 2*t.Read:
		return "writing the target and making it durable (" + share(t.Write+t.Commit) + ")"
	}
	return "neither end alone (reading " + share(t.Read) + ")"
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

// follow shows a copy while it goes on, where somebody watches.
func (s *session) follow(ctx context.Context) (stop func()) {
	if !s.p.Live() {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		last, before := s.env.Now(), move.Summary{}
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			m, now := s.report.Summary(), s.env.Now()
			rate := float64(m.Bytes-before.Bytes) / now.Sub(last).Seconds()
			s.p.Tick("copy", fmt.Sprintf("%v, %d files, %v/s, %d there already", unit.Bytes(m.Bytes), m.Files, unit.Bytes(rate), m.Same))
			last, before = now, m
		}
	}()
	return func() { cancel(); <-ended; s.p.End() }
}

// Took is how long it took.
func (r *Result) Took() time.Duration { return time.Duration(r.TookNs) }
