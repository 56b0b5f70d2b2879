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
