package copy

import (
	"context"
	"sync"

	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
)

// watch has both ends sampled from now on: their connections with each other, their mover,
// and the disk that it reads or writes.
func (b *between) watch(ctx context.Context) {
	if b.do == mover.Planning {
		return
	}
	b.seen = newWatched(b.env.Now)
	var looked sync.WaitGroup
	for i, s := range []*side{b.from, b.to} {
		other := b.to
		if i == 1 {
			other = b.from
		}
		of := measure.Watch{OwnedBy: []int{s.m.PID()}, PIDs: []int{s.m.PID()}}
		if b.o.Far.ThroughSSH { // its connections are with this process
			of.OwnedBy = nil
		}
		if s.device != "" {
			of.Serves = &measure.Serving{Disk: s.device}
		}
		b.seen.follow(ctx, i, s.agent, of)
		b.seen.known(i, s.as, s.facts, other.addr)
		if s.facts != nil {
			continue
		}
		looked.Go(func() { // what is read slowly must not delay the copy
			if f, err := s.agent.Facts(ctx); err == nil {
				b.seen.known(i, s.as, f, other.addr)
			}
		})
	}
	looked.Go(func() {
		line := b.env.Reach(nil).StatedRate(ctx, b.from.name, b.to.name, b.to.addr)
		b.seen.mu.Lock()
		b.seen.line = line
		b.seen.mu.Unlock()
	})
	go func() { looked.Wait(); close(b.seen.looked) }()
	b.closers = append(b.closers, b.seen.close)
}

// counted is what an end told as a sample has it.
func (b *between) counted(w mover.Work) model.CopyCount {
	return model.CopyCount{Took: w.Took, Streams: max(1, w.Streams), Lanes: wire.Readers, Sending: w.Sending, Held: w.Held, Reading: w.Reading,
		Writing: w.Writing, Committing: w.Committing, CPU: w.CPU, CPUs: w.CPUs, Bytes: w.Received, Files: w.Moved.Files, Limit: int64(b.o.Limit)}
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
