package explain

import (
	"testing"

	"linerate/internal/model"
)

// Each recording made for docs/cases.md is named for what was put wrong, never
// surer than its signature allows.
func TestRecordedCases(t *testing.T) {
	for name, want := range map[string]struct {
		id   model.LimiterID
		most float64
	}{
		"offloads-off": {model.PacketCost, 0.95}, "small-segments": {model.SmallSegments, 0.9}, "congestion-control": {model.CongestionControl, 0.75},
		"late-100ms": {model.Reordering, 0.8}, "reordering-15ms": {model.Reordering, 0.8},
		"outage": {model.Outage, 0.5}, "connection-refused": {model.ConnectionRefused, 0.9},
		"nfs-few-slots": {model.NFSConcurrency, 0.8}, "slow-disk": {model.ServerTime, 0.8}, "iscsi-queue-depth": {model.RequestConcurrency, 0.8},
	} {
		c := readRecording(t, "cases/"+name)
		v := Judge(c)
		checkVerdict(t, c, v)
		if v.Limiter != want.id || v.Confidence > want.most || v.Confidence < 0.3 {
			t.Errorf("%s: %.2f %s", name, v.Confidence, v.Line)
		}
	}
}

// A task that hardly gets a CPU when it wants one holds a transfer back by that, also where it wants one for
// less than half of the time; one that sleeps, or that runs when it wants to, does not.
func TestATaskThatIsShutOutOfTheCPU(t *testing.T) {
	reader := func(run, wait float64) Case {
		return knobs{rate: 0.1e9, recvQ: 3900 << 10, wnd: 64 << 10, full: true, rwnd: 0.9, rcvbuf: 6 << 20, run: [2]float64{0.1, run}, wait: [2]float64{0, wait}}.build()
	}
	writer := func(run, wait float64) Case {
		return knobs{rate: 0.1e9, notsent: -1, appLtd: true, run: [2]float64{run, 0.1}, wait: [2]float64{wait, 0}}.build()
	}
	for _, c := range []struct {
		name string
		of   Case
		want model.LimiterID
	}{
		{"a reader that waits for a CPU 46% of the time and runs 0.3%", reader(0.003, 0.46), model.ReceiverCPU},
		{"a reader that sleeps", reader(0.003, 0.02), model.ApplicationSink},
		{"a reader that waits sometimes and runs as much", reader(0.2, 0.3), model.ApplicationSink},
		{"a writer that waits for a CPU 66% of the time and runs 0.6%", writer(0.006, 0.66), model.SenderCPU},
		{"a writer that sleeps", writer(0.006, 0.02), model.ApplicationSource},
	} {
		if v := Judge(c.of); v.Limiter != c.want {
			t.Errorf("%s: %s (%.2f): %s", c.name, v.Limiter, v.Confidence, v.Line)
		}
	}
}
