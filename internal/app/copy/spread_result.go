package copy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/unit"
)

func several(n int, what string) string { return unit.Count(n, what) }

// count adds the counters of a round.
func (s *spreading) count(first bool) {
	for _, e := range s.ends {
		w := e.last
		e.sum.CPUSec += w.CPU.Seconds()
		s.cpu += w.CPU.Seconds()
		m := w.Moved
		if e.source {
			e.sum.Bytes += w.Sent
			s.total.Retried += m.Retried
		} else {
			e.sum.Files, e.sum.Bytes = e.sum.Files+m.Files, e.sum.Bytes+m.Bytes
			e.made.Vain += m.Vain
			e.made.Symlinks, e.made.HardLinks, e.made.Specials = e.made.Symlinks+m.Symlinks, e.made.HardLinks+m.HardLinks, e.made.Specials+m.Specials
			s.out.Times.Write, s.out.Times.Commit = s.out.Times.Write+w.Writing, s.out.Times.Commit+w.Committing
			s.before += w.Received
		}
		s.out.Times.Read += w.Reading
		s.total.Files, s.total.Bytes, s.total.Resumed = s.total.Files+m.Files, s.total.Bytes+m.Bytes, s.total.Resumed+m.Resumed
		s.total.Symlinks, s.total.HardLinks, s.total.Specials = s.total.Symlinks+m.Symlinks, s.total.HardLinks+m.HardLinks, s.total.Specials+m.Specials
		s.total.Vain += m.Vain
		s.total.Mended, s.total.NewDirs = s.total.Mended+m.Mended, s.total.NewDirs+m.NewDirs
		s.total.JournalNs, s.total.Deleted = s.total.JournalNs+m.JournalNs, s.total.Deleted+m.Deleted
		if first { // a later one finds what the first has made
			s.total.Same, s.total.SameBytes = s.total.Same+m.Same, s.total.SameBytes+m.SameBytes
			s.total.Directories, s.total.Excluded = s.total.Directories+m.Directories, s.total.Excluded+m.Excluded
		}
		e.work = nil
	}
	for _, p := range s.pairs {
		if w := p.to.last.Pairs; p.i < len(w) {
			s.bytes[[2]int{p.from.number, p.to.number}] += w[p.i].Bytes
		}
		if w := p.from.last.Pairs; p.j < len(w) {
			s.had[[2]int{p.from.number, p.to.number}] = w[p.j].Congestion
		}
	}
	for _, e := range s.ends {
		e.last = mover.Work{}
	}
}

// arrived is what came to lie at the targets: of one that failed its bytes are not known to be
// whole files, and of one that could not be asked any more nothing is.
func (s *spreading) arrived() (whole move.Summary, failed int64) {
	whole = s.total
	for _, e := range s.ends {
		if e.source || !e.closed {
			continue
		}
		whole.Bytes, failed = whole.Bytes-e.sum.Bytes, failed+e.sum.Bytes
		whole.Vain -= e.made.Vain
		if e.out {
			whole.Files -= e.sum.Files
			whole.Symlinks, whole.HardLinks, whole.Specials = whole.Symlinks-e.made.Symlinks, whole.HardLinks-e.made.HardLinks, whole.Specials-e.made.Specials
		}
	}
	return whole, failed
}

// ended makes the result from all rounds.
func (s *spreading) ended(ctx context.Context, began time.Time, err error) (*Result, error) {
	r := s.out
	if serr := s.settle(); serr != nil {
		err = errors.Join(err, serr)
	}
	for _, e := range s.ends {
		if e.why != nil {
			e.sum.State, e.sum.Error = "failed", e.why.Error()
			if err == nil {
				s.report.Lose(move.Failed, "", "%s", e.failure())
			}
		}
		if e.source {
			r.Spread.Sources = append(r.Spread.Sources, e.sum)
		} else {
			r.Spread.Targets = append(r.Spread.Targets, e.sum)
		}
	}
	if err == nil {
		err = s.undeleted()
	}
	whole, failed := s.arrived()
	r.Spread.FailedBytes = failed
	s.report.Count(func(m *move.Summary) { *m = whole })
	in := &session{env: s.env, p: s.p, o: s.o, report: s.report, out: r, began: began}
	in.o.Target = "its targets"
	r.CPUSec = s.cpu
	state := map[mover.Deed]string{mover.Copying: "done", mover.Planning: "planned", mover.Comparing: "different"}[s.do]
	r, err = in.ended(ctx, state, err)
	if s.do == mover.Comparing {
		return compared(r, err)
	}
	secs := s.took.Seconds()
	for _, from := range s.ends {
		for _, to := range s.ends {
			if !from.source || to.source {
				continue
			}
			p := SpreadPair{From: from.as, To: to.as, Bytes: s.bytes[[2]int{from.number, to.number}], Congestion: s.had[[2]int{from.number, to.number}]}
			if s.isThrough(from, to) {
				p.Way, p.Congestion = ThroughSSH, "" // of the loopback
			}
			if secs > 0 {
				p.Rate = 8 * float64(p.Bytes) / secs
			}
			r.Spread.Pairs = append(r.Spread.Pairs, p)
		}
	}
	r.Rate = 0
	if secs > 0 && r.State != "stopped" {
		r.Rate = 8 * float64(r.Moved.Kept()) / secs
	}
	return r, err
}

// failure says what an end's failure means for the copy.
func (e *spreadEnd) failure() string {
	if e.source {
		return fmt.Sprintf("source %s failed, and what it had left was not copied: %v", e.as, e.why)
	}
	if e.out {
		return fmt.Sprintf("target %s failed, and all that it should have is at the others: %v", e.as, e.why)
	}
	return fmt.Sprintf("target %s failed; what it still has was left there, and the others have the rest: %v", e.as, e.why)
}

// follow shows a copy while it goes on, where somebody watches, and takes its time.
func (s *spreading) follow(ctx context.Context) (stop func()) {
	began, line := s.env.Now(), &line{now: s.env.Now}
	ended := following(ctx, s.p, nil, func() { s.show(line) })
	return func() { ended(); s.took += s.env.Now().Sub(began) }
}

// show renews the line of all ends.
func (s *spreading) show(l *line) {
	moved, total, bytes, at := s.total, mover.Total{Whole: true}, s.before, 0
	for _, e := range s.ends {
		if e.out {
			continue
		}
		w := e.seen()
		if e.source {
			if w.Total == nil {
				total.Whole = false
			} else {
				total = mover.Total{Files: total.Files + w.Total.Files, Bytes: total.Bytes + w.Total.Bytes, Whole: total.Whole && w.Total.Whole}
			}
			continue
		}
		at++
		bytes += w.Received
		moved.Files, moved.Same = moved.Files+w.Moved.Files, moved.Same+w.Moved.Same
		moved.SameBytes, moved.Resumed = moved.SameBytes+w.Moved.SameBytes, moved.Resumed+w.Moved.Resumed
	}
	s.p.Tick("copy", l.text(bytes, moved, &total)+", to "+several(at, "target"))
}
