package explain

import (
	"fmt"
	"strings"

	"linerate/internal/model"
)

const (
	// machineFull and machinePressed: all cores of a machine are in use, and some task
	// waits for one most of the time.
	machineFull    = 0.9
	machinePressed = 0.5
	// delayed: where the kernel does not count pressure, other work is felt once a task of the
	// connection waits for a CPU for this share of its time.
	delayed = 0.1
	// busyMachineCap is the most confidence in a verdict on the path while the machine
	// at an end is that busy.
	busyMachineCap = contradictedCap
)

// others reads how busy the whole machine is.
func (v *hostView) others(in []model.Sample) {
	a, b := in[0], in[len(in)-1]
	var used, all float64
	for i := range b.CPUs {
		if i >= len(a.CPUs) || a.CPUs[i].CPU != b.CPUs[i].CPU {
			return
		}
		x, y := a.CPUs[i], b.CPUs[i]
		u := (y.User - x.User + y.System - x.System + y.SoftIRQ - x.SoftIRQ + y.IRQ - x.IRQ + y.Steal - x.Steal).Seconds()
		used, all = used+u, all+u+(y.Idle-x.Idle+y.IOWait-x.IOWait).Seconds()
	}
	v.machine = ratio(used, all)
	if a.Pressure != nil && b.Pressure != nil {
		v.pressed = min(1, max(0, ratio((b.Pressure.CPU-a.Pressure.CPU).Seconds(), wall(in))))
	}
}

// swamped: the machine has more work than cores, so that packets and tasks wait for it.
func (v *hostView) swamped() bool {
	return v != nil && v.machine >= machineFull && (v.pressed >= machinePressed || !known(v.pressed) && v.wait >= delayed)
}

// looksBusy tells whether packets that wait for a CPU look like the limiter.
func (s *scene) looksBusy(id model.LimiterID) bool {
	switch id {
	case model.LinkRate, model.PathQueue, model.FlowControl, model.Undetermined:
		return true
	case model.PathLoss, model.Reordering, model.CongestionControl:
		return s.pattern() != patternRandom
	}
	return false
}

// looksLost tells whether frames that an emulated path lost by itself look like the limiter. A
// pattern of losses says nothing here: what a ring drops may be one frame or many.
func looksLost(id model.LimiterID) bool {
	switch id {
	case model.LinkRate, model.PathQueue, model.PathLoss, model.Reordering, model.CongestionControl,
		model.SACKOff, model.FlowControl, model.Outage:
		return true
	}
	return false
}

// lostByLab caps a verdict on the path where the lab that emulates it lost frames by itself, and
// says why. It comes after the probes, since these cross the same links.
func lostByLab(v *model.Verdict, lost []string) {
	if len(lost) == 0 || !looksLost(v.Limiter) {
		return
	}
	atMost(v, busyMachineCap, fmt.Sprintf("%s; such losses look like a slow or lossy path, so the confidence is at most %s", strings.Join(lost, "; "), pct(busyMachineCap)))
}

// busyMachine caps a verdict on the path that was reached on a swamped machine, and says
// why.
func (s *scene) busyMachine(v *model.Verdict) {
	if !s.looksBusy(v.Limiter) {
		return
	}
	for _, h := range []*hostView{s.sender, s.reader} {
		if !h.swamped() {
			continue
		}
		v.Confidence = min(v.Confidence, busyMachineCap)
		waits := "the tasks of the connection wait for one " + pct(h.wait)
		if known(h.pressed) {
			waits = "some task waits for one " + pct(h.pressed)
		}
		v.Notes = append(v.Notes, fmt.Sprintf("the machine of %s is busy: %s of all its cores' time is used and %s of the time; packets that wait for a CPU look like a slow or lossy path, so measure again when it is quieter", h.end.Host, pct(h.machine), waits))
		return
	}
}
