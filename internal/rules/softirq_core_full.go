package rules

import (
	"fmt"
	"time"

	"linerate/internal/model"
)

// A core is saturated from a busy share of fullCore on, and saturated by packets if softirqs
// and interrupts are mostWork of that; linerate explain uses the same bounds. A core that is
// idle for idleCore of the time could have processed some of the packets.
const (
	fullCore = 0.85
	mostWork = 0.5
	idleCore = 0.5
)

func softirqCore() Rule {
	return Rule{
		ID:     "softirq-core-full",
		Limits: []model.LimiterID{model.ReceiverCPU},
		Doc:    "One core spends all its time on packets while others idle: it bounds the packet rate, however fast the link is.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			full, share, idle := busiestOfPackets(f, c.Earlier)
			if full == nil || idle == 0 {
				return nil
			}
			gap := f.Taken.Sub(c.Earlier.Taken).Round(100 * time.Millisecond)
			return []model.Finding{{
				Severity: Medium, Title: fmt.Sprintf("CPU %d has no time left for packets", full.CPU),
				Observed: fmt.Sprintf("CPU %d: %.0f%% of %v in softirqs and interrupts, %.0f%% idle; CPUs that idle more than half of it: %d", full.CPU, 100*share, gap, 100*idleShare(*full), idle),
				Fix:      "spread the receive queues over cores (interrupts, channels), or the packets of one queue with receive packet steering (rps_cpus); a single connection needs larger frames, GRO or a faster core",
				Source:   "Documentation/networking/scaling.rst; proc_stat(5)",
			}}
		},
	}
}

// busiestOfPackets is the core that packets saturated between two readings, with the share of
// its time that they took and the number of idle cores; nil if there is none, or if the
// readings are less than a second apart.
func busiestOfPackets(f, earlier *model.Facts) (*model.CPUTime, float64, int) {
	if earlier == nil {
		return nil, 0, 0
	}
	before := map[int]model.CPUTime{}
	for _, t := range earlier.CPU.Times.Or(nil) {
		before[t.CPU] = t
	}
	var full *model.CPUTime
	most, idle := 0.0, 0
	for _, t := range f.CPU.Times.Or(nil) {
		was, ok := before[t.CPU]
		t.User, t.System, t.SoftIRQ, t.IRQ = t.User-was.User, t.System-was.System, t.SoftIRQ-was.SoftIRQ, t.IRQ-was.IRQ
		t.Idle, t.IOWait, t.Steal = t.Idle-was.Idle, t.IOWait-was.IOWait, t.Steal-was.Steal
		if !ok || min(t.User, t.System, t.SoftIRQ, t.IRQ, t.Idle) < 0 || wall(t) < time.Second {
			continue // it was offline, or its counters restarted
		}
		if idleShare(t) >= idleCore {
			idle++
		}
		packets := (t.SoftIRQ + t.IRQ).Seconds() / wall(t).Seconds()
		if 1-idleShare(t) >= fullCore && packets >= mostWork && packets > most {
			full, most = &t, packets
		}
	}
	return full, most, idle
}

func wall(t model.CPUTime) time.Duration {
	return t.User + t.System + t.SoftIRQ + t.IRQ + t.Idle + max(0, t.IOWait) + max(0, t.Steal)
}

func idleShare(t model.CPUTime) float64 {
	return (t.Idle + max(0, t.IOWait)).Seconds() / wall(t).Seconds()
}
