package rules

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// Two looks, ten seconds apart, at two cores.
func TestSoftirqCore(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		zero, one model.CPUTime // what each spent in between
		says      string
	}{
		"full of packets":      {model.CPUTime{SoftIRQ: 9 * s, Idle: s}, model.CPUTime{Idle: 10 * s}, "CPU 0: 90% of 10s in softirqs and interrupts, 10% idle; CPUs that idle more than half of it: 1"},
		"the other, by half":   {model.CPUTime{Idle: 10 * s}, model.CPUTime{CPU: 1, SoftIRQ: 4 * s, IRQ: 1 * s, User: 5 * s}, "CPU 1: 50%"},
		"full of other work":   {model.CPUTime{SoftIRQ: 4 * s, User: 6 * s}, model.CPUTime{Idle: 10 * s}, ""},
		"not full":             {model.CPUTime{SoftIRQ: 8 * s, Idle: 2 * s}, model.CPUTime{Idle: 10 * s}, ""},
		"no other has time":    {model.CPUTime{SoftIRQ: 10 * s}, model.CPUTime{User: 6 * s, Idle: 4 * s}, ""},
		"hardly any time went": {model.CPUTime{SoftIRQ: s / 2}, model.CPUTime{Idle: s / 2}, ""},
		"counters began anew":  {model.CPUTime{SoftIRQ: 9 * s, Idle: -s}, model.CPUTime{Idle: 10 * s}, ""},
	} {
		c.one.CPU = 1
		before, after := server(), server()
		before.CPU.Times = model.Known([]model.CPUTime{{CPU: 0, SoftIRQ: 60 * s, Idle: 60 * s}, {CPU: 1, Idle: 120 * s, User: s}})
		after.Taken = before.Taken.Add(10 * s)
		var now []model.CPUTime
		for i, d := range []model.CPUTime{c.zero, c.one} {
			was := before.CPU.Times.Value[i]
			now = append(now, model.CPUTime{CPU: i, User: was.User + d.User, SoftIRQ: was.SoftIRQ + d.SoftIRQ, IRQ: was.IRQ + d.IRQ, Idle: was.Idle + d.Idle})
		}
		after.CPU.Times = model.Known(now)
		got := only(Check(after, Context{Earlier: before}), "softirq-core-full")
		if (len(got) == 1) != (c.says != "") || len(got) == 1 && (got[0].Severity != Medium || !strings.Contains(got[0].Observed, c.says)) {
			t.Errorf("%s: %+v, want %q", name, got, c.says)
		}
		if once := only(Check(after, Context{}), "softirq-core-full"); len(once) > 0 {
			t.Errorf("%s: by one look: %+v", name, once)
		}
		after.CPU.Times.State = model.Denied
		if blind := only(Check(after, Context{Earlier: before}), "softirq-core-full"); len(blind) > 0 {
			t.Errorf("%s: of what was denied: %+v", name, blind)
		}
	}
}
