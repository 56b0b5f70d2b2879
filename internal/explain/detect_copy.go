package explain

import (
	"fmt"
	"math"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Shares from which a stage of a copy is what the others wait for.
const (
	stageMost = 0.60
	// stageCPU: the process uses up the CPUs that it may use.
	stageCPU = 0.90
	// copyLimit: the rate is that which was asked for.
	copyLimit = 0.90
	// diskWorks: a disk that has work for less of the time is not what a stage waits for.
	diskWorks = 0.50
	// diskUnseen caps the confidence in a storage whose disk was not seen at work.
	diskUnseen = 0.75
	diskIdle   = 0.55
)

// judgeStages lets the stages of a copy say whether the verdict that its connections elected
// is the cause, or what they see of a stage that others wait for: a target that writes
// slowly fills windows, and a source that reads slowly leaves sockets dry.
func (v *views) judgeStages(elected model.Verdict) model.Verdict {
	if elected.Limiter == model.None { // nothing is to be had beyond the ceiling
		v.copy.sayStages(&elected)
		return elected
	}
	f := diagnoseAfter(stages, &scene{c: v, total: v.goodput, elected: &elected, ceiling: unknown()})
	if f == nil {
		v.copy.sayStages(&elected)
		if elected.Limiter == model.ApplicationSource { // which is this copy: nobody can make it read faster
			elected.Fix.Advice = "it is the copy's own process that leaves the connections idle, and none of its stages stands out: see what else takes the CPUs and the disk of that host, and what the path carries without files"
		}
		return elected
	}
	out := model.Verdict{Limiter: f.id, Where: limiter(f.id).Where, Host: f.host, Evidence: f.evidence, Alternatives: f.alts, Notes: f.notes}
	out.Confidence = math.Round(min(0.6+0.35*f.margin, f.cap)*100) / 100
	if v.copy.n < fewSamples {
		out.Confidence = min(out.Confidence, 0.3+0.03*float64(v.copy.n))
	}
	out.Fix = operator(f.host, f.advice)
	out.Measured = unit.BitRate(8 * v.copy.rate)
	return out
}

// sayStages adds what the stages show to a verdict of the connections.
func (c *copyView) sayStages(v *model.Verdict) {
	f := &finding{}
	c.stageEvidence(f)
	v.Evidence = append(v.Evidence, f.evidence...)
}

func (c *copyView) stageEvidence(f *finding) {
	if c.local {
		f.say(c.from.Host, "copy_reading_share", c.reading, "ratio", c.n, "of the blocks in flight, %s were being read and hashed, %s written and made durable", pct(c.reading), pct(c.held))
		return
	}
	f.say(c.from.Host, "copy_sending_share", c.sending, "ratio", c.n, "the streams spent %s of the time in send calls, and the readers were busy %s", pct(c.sending), pct(c.reading))
	f.say(c.to.Host, "copy_held_share", c.held, "ratio", c.n, "what had arrived waited for a writer %s of the time, the writers were busy %s, %s went into making files durable", pct(c.held), pct(c.writing), pct(c.durable))
}

// seeCopyLimit: the copy is as fast as it was told to be, or its data waited for that most of the time.
func seeCopyLimit(s *scene) *finding {
	c := s.c.copy
	if c.limit <= 0 || c.rate < copyLimit*c.limit && !(c.paced >= stageMost) {
		return nil
	}
	f := &finding{id: model.ApplicationSource, host: c.from.Host, margin: max(over(c.rate/c.limit, copyLimit, 1), over(c.paced, stageMost, 1)), cap: seenCap}
	f.advice = "give the copy a higher limit, or none"
	if c.rate < copyLimit*c.limit {
		f.say(c.from.Host, "copy_paced_share", c.paced, "ratio", c.n, "data waited for the limit of %v/s %s of the time", unit.Bytes(c.limit), pct(c.paced))
		c.stageEvidence(f)
		return f
	}
	f.say(c.from.Host, "copy_rate_over_limit", c.rate/c.limit, "ratio", c.n, "the copy keeps to its limit of %v/s", unit.Bytes(c.limit))
	return f
}

func seeCopySenderCPU(s *scene) *finding {
	return s.copyCPU(model.SenderCPU, s.c.copy.from, s.c.copy.source)
}

func seeCopyReceiverCPU(s *scene) *finding {
	if s.c.copy.local {
		return nil // one process, which the sender's is
	}
	return s.copyCPU(model.ReceiverCPU, s.c.copy.to, s.c.copy.target)
}

// copyCPU: a process of the copy has all the CPU that it can get.
func (s *scene) copyCPU(id model.LimiterID, e *End, h stageHost) *finding {
	kept := h.longest >= readerWait && h.waiting+h.cpu*h.cpus >= wantsCPU || shutOut(h.longest, h.cpu*h.cpus)
	if !(h.cpu >= stageCPU) && !(h.throttled >= quotaShare) && !kept {
		return nil
	}
	f := &finding{id: id, host: e.Host, margin: max(over(h.cpu, stageCPU, 1), over(h.throttled, quotaShare, 0.8)), cap: seenCap}
	if kept {
		f.margin = max(f.margin, over(h.longest, min(readerWait, shutOutWait), 0.85))
	}
	f.say(e.Host, "copy_cpu_share", h.cpu, "ratio", s.c.copy.n, "the copy's process used %s of the CPUs that it may use", pct(h.cpu))
	f.advice = "give the copy's process more CPUs"
	if kept {
		f.say(e.Host, "copy_run_delay", h.waiting, "tasks", s.c.copy.n, "%.1f of its tasks on average are runnable without a CPU, one of them %s of the time", h.waiting, pct(h.longest))
		f.evidence[0], f.evidence[1] = f.evidence[1], f.evidence[0]
		f.advice = "other work keeps the copy's process from the CPUs: run them on others, or at another time"
	}
	if h.throttled >= quotaShare {
		f.say(e.Host, "copy_throttled_share", h.throttled, "ratio", s.c.copy.n, "its CPU quota was used up %s of the time", pct(h.throttled))
		f.evidence[0], f.evidence[1] = f.evidence[1], f.evidence[0]
		f.advice = "raise the CPU quota of its control group"
	}
	s.c.copy.stageEvidence(f)
	return f
}

// seeCopyTarget: what arrives waits to be written, or the streams have nothing to send while
// the target writes or makes durable what it has. The latter is most of a copy that fits into
// the buffers on the way.
func seeCopyTarget(s *scene) *finding {
	c := s.c.copy
	late := max(c.held, min(1, c.writing+c.durable))
	if !(c.held >= stageMost) && !(late >= stageMost && c.sending < 1-stageMost && c.reading < late) {
		return nil
	}
	return c.storage(model.TargetStorage, c.to, c.target, late)
}

// seeCopySource: streams wait for blocks while the readers are busy.
func seeCopySource(s *scene) *finding {
	c := s.c.copy
	if !(c.reading >= stageMost) || c.sending >= 1-stageMost || c.held >= 1-stageMost {
		return nil
	}
	return c.storage(model.SourceStorage, c.from, c.source, c.reading)
}

// storage blames one end's storage, or the number of its files.
func (c *copyView) storage(id model.LimiterID, e *End, h stageHost, share float64) *finding {
	f := &finding{id: id, host: e.Host, margin: over(share, stageMost, 1), cap: diskUnseen}
	does, cap := "writing", "write"
	if id == model.SourceStorage {
		does, cap = "reading", "read"
	}
	if c.mean < copyFiles {
		f.id = model.SmallFiles
		f.say(e.Host, "copy_mean_file", c.mean, "bytes", c.n, "%.0f files a second of %s each keep the %s end busy", c.files, size(c.mean), does)
		f.advice = "the work of each file outweighs its data: pack them (tar) where they need not stay files, or use a file system that creates files faster"
	}
	c.stageEvidence(f)
	if f.id != model.SmallFiles && len(f.evidence) > 1 && id == model.TargetStorage {
		f.evidence[0], f.evidence[1] = f.evidence[1], f.evidence[0]
	}
	switch {
	case h.busy >= diskWorks:
		f.cap = seenCap
		f.say(e.Host, "copy_disk_busy_share", h.busy, "ratio", c.n, "disk %s has work %s of the time", h.disk, pct(h.busy))
	case known(h.busy):
		f.cap = diskIdle
		f.say(e.Host, "copy_disk_busy_share", h.busy, "ratio", c.n, "disk %s has work only %s of the time: its file system, a limit of a control group (io.max), or how many requests it is given, is what takes the time", h.disk, pct(h.busy))
	}
	if f.advice == "" {
		f.advice = fmt.Sprintf("%s it without the network (linerate load file or load block): if that is no faster, the storage is the limit", cap)
	}
	return f
}
