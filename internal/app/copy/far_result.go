package copy

import (
	"context"

	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/unit"
)

// ended makes the result from what both ends reported.
func (b *between) ended(ctx context.Context, err error) (*Result, error) {
	from, to := b.from.seen(), b.to.seen()
	mem := b.o.Far.Mem > 0
	b.report.Count(func(m *move.Summary) { *m = to.Moved; add(m, from.Moved) })
	if mem {
		b.report.Count(func(m *move.Summary) { m.Bytes = to.Received })
	}
	s := &session{env: b.env, p: b.p, o: b.o, report: b.report, out: b.out, began: b.began}
	r := b.out
	r.CPUSec = (from.CPU + to.CPU).Seconds()
	r.Times.Read, r.Times.Write, r.Times.Commit = from.Reading, to.Writing, to.Committing
	if w := r.Wire; w != nil {
		w.Streams, w.MovedNs, w.Again = max(from.Streams, to.Streams), int64(to.Took), to.Again
		w.Ends = []FarEnd{{b.from.as, from.CPU.Seconds(), from.Sockets, from.Near}, {b.to.as, to.CPU.Seconds(), to.Sockets, to.Near}}
	}
	state := map[mover.Deed]string{mover.Copying: "done", mover.Planning: "planned", mover.Comparing: "different"}[b.do]
	r, err = s.ended(ctx, state, err)
	if r.Wire == nil {
		return r, err
	}
	switch b.do {
	case mover.Planning:
		r.Wire, r.HeldBy = nil, "" // no data went
		return r, err
	case mover.Comparing:
		return compared(r, err)
	}
	r.Rate = 0
	if secs := to.Took.Seconds(); secs > 0 && r.State != "stopped" {
		r.Rate = 8 * float64(r.Moved.Kept()) / secs
	}
	if b.seen != nil {
		b.seen.close()
		r.Limiter = b.seen.limiter()
		b.seen.advise(r.Limiter, from.Sockets.Congestion)
		r.HeldBy = r.Limiter.Text
	}
	if mem {
		r.Verified = "nothing: memory has no files, and its data are not hashed"
	}
	return r, err
}

// add adds the other end's counts. Each end counts only what the other cannot see.
func add(m *move.Summary, o move.Summary) {
	m.Retried, m.Excluded = m.Retried+o.Retried, m.Excluded+o.Excluded
}

// follow shows a copy while it goes on.
func (b *between) follow(ctx context.Context) (stop func()) {
	line := &line{now: b.env.Now, seen: b.seen}
	return following(ctx, b.p, nil, func() {
		to, from := b.to.seen(), b.from.seen()
		b.p.Tick("copy", line.text(to.Received, to.Moved, from.Total)+", "+unit.Count(from.Streams, "stream"))
	})
}
