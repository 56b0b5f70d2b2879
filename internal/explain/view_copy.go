package explain

import (
	"time"

	"linerate/internal/model"
)

// copyView is what the stages of one of our own copies show. Shares are of the time that a
// stage has, all its readers or streams together; NaN is unknown.
type copyView struct {
	from, to *End
	local    bool // within one host
	n        int
	dur      float64 // seconds
	rate     float64 // bytes/s
	limit    float64 // bytes/s that it was told to keep to; 0: none
	files    float64 // files/s
	mean     float64 // bytes of a file; unknown where there were none
	// sending, held: of the streams' time. reading: of the readers', writing: of the writers',
	// of which a stream has one. durable: of the time.
	sending, held, reading, writing, durable float64
	paced                                    float64 // of the time, any data waited for limit
	source, target                           stageHost
}

// stageHost is what one end's host has for the copy.
type stageHost struct {
	cpu       float64 // of the CPUs that the process may use
	cpus      float64 // that those are
	throttled float64 // share of the time without quota
	// waiting is how many of the process's tasks were runnable without a CPU on average, and
	// longest the share of the time of the one that waited most.
	waiting, longest float64
	disk             string
	busy             float64 // share of the time that the disk has work
}

// copyFiles: with smaller files on average the work of a file outweighs its data: at the
// 200 µs that a file takes at best (docs/performance.md), 64 KiB are read at 330 MB/s.
const copyFiles = 64 << 10

// viewCopy is the copy of which both ends tell; nil where none does.
func viewCopy(c Case) *copyView {
	if c.Sender == nil || c.Receiver == nil {
		return nil
	}
	a, b := ofCopy(c.Sender), ofCopy(c.Receiver)
	if len(a) < 2 || len(b) < 2 {
		return nil
	}
	v := &copyView{from: c.Sender, to: c.Receiver, n: min(len(a), len(b)), mean: unknown()}
	s, r := copyGrowth(a), copyGrowth(b)
	v.dur = min(s.Took, r.Took).Seconds()
	if v.dur <= 0 {
		return nil
	}
	v.limit = float64(a[len(a)-1].Copy.Limit)
	v.rate, v.files = float64(r.Bytes)/r.Took.Seconds(), float64(r.Files)/r.Took.Seconds()
	if r.Files > 0 {
		v.mean = float64(r.Bytes) / float64(r.Files)
	}
	if v.local = s.Streams == 0; v.local {
		all := (r.Reading + r.Writing + r.Committing).Seconds()
		v.reading, v.held, v.durable = ratio(r.Reading.Seconds(), all), ratio((r.Writing+r.Committing).Seconds(), all), 0
		v.sending = 0
	} else {
		streams := float64(max(1, s.Streams))
		v.paced = min(1, ratio(s.Pacing.Seconds(), s.Took.Seconds()))
		v.sending, v.held = ratio(s.Sending.Seconds(), s.Took.Seconds()*streams), ratio(r.Held.Seconds(), r.Took.Seconds()*streams)
		// Where files are small and large, more may be read at once than most of them take.
		v.reading = min(1, ratio(s.Reading.Seconds(), s.Took.Seconds()*float64(max(1, s.Lanes))))
		v.writing = min(1, ratio(r.Writing.Seconds(), r.Took.Seconds()*streams))
		v.durable = min(1, ratio(r.Committing.Seconds(), r.Took.Seconds()))
	}
	v.source, v.target = stageOf(a, s, true), stageOf(b, r, false)
	return v
}

// ofCopy are the samples of an end that tell of a copy.
func ofCopy(e *End) (out []model.Sample) {
	for _, s := range e.Samples {
		if s.Copy != nil && (len(out) == 0 || s.Copy.Took > out[len(out)-1].Copy.Took) {
			out = append(out, s)
		}
	}
	return out
}

// copyGrowth is by how much the counters grew. Streams are those at the end, Lanes the readers of what most
// was read of meanwhile: whole small files, or blocks.
func copyGrowth(in []model.Sample) model.CopyCount {
	a, b := *in[0].Copy, *in[len(in)-1].Copy
	less := func(x, y time.Duration) time.Duration { return max(0, y-x) }
	reading, small, lanes := less(a.Reading, b.Reading), less(a.ReadingSmall, b.ReadingSmall), b.Lanes
	if b.LanesSmall > 0 && small > reading-small {
		lanes = b.LanesSmall
	}
	return model.CopyCount{Took: less(a.Took, b.Took), Streams: b.Streams, Lanes: lanes, CPUs: b.CPUs, CPU: less(a.CPU, b.CPU),
		Sending: less(a.Sending, b.Sending), Held: less(a.Held, b.Held), Pacing: less(a.Pacing, b.Pacing), Reading: reading, Writing: less(a.Writing, b.Writing),
		Committing: less(a.Committing, b.Committing), Bytes: max(0, b.Bytes-a.Bytes), Files: max(0, b.Files-a.Files)}
}

func stageOf(in []model.Sample, g model.CopyCount, reads bool) stageHost {
	h := stageHost{cpus: float64(g.CPUs), cpu: ratio(g.CPU.Seconds(), g.Took.Seconds()*float64(g.CPUs)), throttled: unknown(), busy: unknown(), waiting: unknown(), longest: unknown()}
	a, b := in[0], in[len(in)-1]
	from, okA := a.Throttled.Get()
	to, okB := b.Throttled.Get()
	if okA && okB {
		h.throttled = max(0, ratio((to-from).Seconds(), (b.At-a.At).Seconds()))
	}
	h.waits(in)
	if a.Server != nil && b.Server != nil && a.Server.Disk != nil && b.Server.Disk != nil && a.Server.Disk.Name == b.Server.Disk.Name {
		h.disk = b.Server.Disk.Name
		h.busy = min(1, max(0, ratio((b.Server.Disk.Busy-a.Server.Disk.Busy).Seconds(), (b.At-a.At).Seconds())))
	}
	return h
}

// waits sums up how long tasks were runnable without a CPU. Tasks come and go.
func (h *stageHost) waits(in []model.Sample) {
	last, grown := map[int]time.Duration{}, map[int]time.Duration{}
	for _, s := range in {
		for _, t := range s.Tasks {
			if before, ok := last[t.TID]; ok {
				grown[t.TID] += max(0, t.Wait-before)
			}
			last[t.TID] = t.Wait
		}
	}
	if len(last) == 0 {
		return
	}
	h.waiting, h.longest = 0, 0
	for _, d := range grown {
		share := ratio(d.Seconds(), wall(in))
		h.waiting, h.longest = h.waiting+share, max(h.longest, share)
	}
}
