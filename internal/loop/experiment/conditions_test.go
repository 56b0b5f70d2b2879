package experiment

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/study/file"
)

// Threads of the kernel work for a read of a mount, and for nobody else as far as can
// be told; a program that computes beside it is somebody else's.
func TestForeignCPU(t *testing.T) {
	for _, c := range []struct {
		name               string
		kind               string
		user, system, ours time.Duration // of a second of one core
		doubted            bool
	}{
		{"a mount is read by the kernel", file.Read, 30 * time.Millisecond, 600 * time.Millisecond, 50 * time.Millisecond, false},
		{"a disk is read by the kernel", file.Block, 100 * time.Millisecond, 500 * time.Millisecond, 80 * time.Millisecond, false},
		{"a program computes beside it", file.Read, 500 * time.Millisecond, 300 * time.Millisecond, 50 * time.Millisecond, true},
		{"the kernel works beside streams", file.TCP, 30 * time.Millisecond, 600 * time.Millisecond, 50 * time.Millisecond, true},
		{"streams alone", file.TCP, 30 * time.Millisecond, 600 * time.Millisecond, 600 * time.Millisecond, false},
	} {
		h := &Host{Name: "client"}
		at := func(user, system, idle, ours time.Duration) model.Sample {
			return model.Sample{CPUs: []model.CPUTime{{User: user, System: system, Idle: idle}}, Tasks: []model.Task{{TID: 1, CPU: ours}}}
		}
		m := &work{kind: c.kind, alone: []aloneRun{{host: h, samples: []model.Sample{at(0, 0, 0, 0), at(c.user, c.system, time.Second-c.user-c.system, c.ours)}}}}
		why := strings.Join(m.cpu(h), "; ")
		if doubted := strings.Contains(why, "other programs"); doubted != c.doubted {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}

// A run during which a clock was set does not count, though no drift tells of it.
func TestRunWithAClockThatWasSet(t *testing.T) {
	for id, doubted := range map[string]bool{"clock-set": true, "ended-early": true, "clock-uncertain": false} {
		x := &Experiment{clocks: map[string]clockSeen{}, Now: func() time.Time { return moment }}
		m := &work{kind: file.Read, runs: []model.Run{{Clocks: map[string]model.Clock{"client": {}}, Warnings: []model.Warning{{ID: id, What: "the clock of client was set during the run"}}}}}
		if why := x.doubt(m); (why != "") != doubted {
			t.Errorf("%s: %q", id, why)
		}
	}
}
