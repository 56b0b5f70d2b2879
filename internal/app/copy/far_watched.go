package copy

import (
	"context"
	"sync"
	"time"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/move/mover"
)

// watch has both ends sampled from now on: their connections with each other, their mover,
// and the disk that it reads or writes.
func (b *between) watch(ctx context.Context) {
	if b.do == mover.Planning {
		return
	}
	b.seen = newWatched(b.env.Now)
	for i, s := range []*side{b.from, b.to} {
		of := measure.Watch{OwnedBy: []int{s.m.PID()}, PIDs: []int{s.m.PID()}}
		if b.o.Far.ThroughSSH { // its connections are with this process
			of.OwnedBy = nil
		}
		if s.device != "" {
			of.Serves = &measure.Serving{Disk: s.device}
		}
		b.seen.follow(ctx, i, s.agent, of)
		b.seen.known(i, s.as, nil, b.other(s).addr)
	}
	over := make(chan struct{})
	b.seen.mu.Lock()
	b.seen.stop = append(b.seen.stop, func() { close(over) })
	b.seen.mu.Unlock()
	go func() {
		defer close(b.seen.looked)
		select {
		case <-time.After(shortest):
			b.look(ctx)
		case <-over: // nothing is judged
		}
	}()
	b.closers = append(b.closers, b.seen.close)
}

// look reads what both ends are, for the verdict: a copy that gets none is spared it.
func (b *between) look(ctx context.Context) {
	var looked sync.WaitGroup
	for i, s := range []*side{b.from, b.to} {
		looked.Go(func() {
			if f, err := s.agent.Facts(ctx); err == nil {
				b.seen.known(i, s.as, f, b.other(s).addr)
			}
		})
	}
	looked.Go(func() {
		line := b.env.Reach(nil).StatedRate(ctx, b.from.name, b.to.name, b.to.addr)
		b.seen.mu.Lock()
		b.seen.line = line
		b.seen.mu.Unlock()
	})
	looked.Wait()
}

// other is the end that is not s.
func (b *between) other(s *side) *side {
	if s == b.from {
		return b.to
	}
	return b.from
}

// counted is what an end told as a sample has it.
func (b *between) counted(w mover.Work) model.CopyCount {
	return model.CopyCount{Took: w.Took, Streams: max(1, w.Streams), Lanes: w.Lanes, LanesSmall: w.LanesSmall, Sending: w.Sending, Held: w.Held, Pacing: w.Pacing,
		Reading: w.Reading, ReadingSmall: w.ReadingSmall, Writing: w.Writing, Committing: w.Committing, CPU: w.CPU, CPUs: w.CPUs, Bytes: w.Received, Files: w.Moved.Files, Limit: int64(b.o.Limit)}
}

// tell has the samples of an end know how far it is.
func (b *between) tell(s *side, w mover.Work) {
	if b.seen == nil {
		return
	}
	i := 0
	if s == b.to {
		i = 1
	}
	b.seen.told(i, b.counted(w))
}
