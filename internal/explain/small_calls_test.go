package explain

import (
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// rsize makes a reader of NFS whose calls carry 4 KiB, on a path that could carry more.
func rsize(perSecond int64, wait float64) Case {
	const each = 4 << 10
	k := knobs{rate: float64(perSecond) * each * 8, minRTT: time.Millisecond, rtt: time.Millisecond, wait: [2]float64{0, wait}}
	c := Watched(k.build().Receiver, model.Known(bitRate(1e9)))
	for i := range c.Receiver.Samples {
		n := perSecond * int64(i) / 10
		op := model.NFSOp{Ops: n, BytesRecv: n * each, BytesSent: n * 200, RTT: 1200 * time.Microsecond * time.Duration(n), Execute: 1300 * time.Microsecond * time.Duration(n)}
		c.Receiver.Samples[i].NFS = &model.NFSCount{Mount: "/mnt/nas", Ops: map[string]model.NFSOp{"READ": op}, MaxSlots: 64}
	}
	return c
}

// A mount that was set to move small pieces is named for it, where the rules found the
// setting; also where the calls cost so much CPU that the reader waits for one.
func TestSmallCalls(t *testing.T) {
	found := model.Finding{Rule: "nfs-transfer-small", Severity: "medium", Host: "server1", Title: "/mnt/nas moves small pieces",
		Observed: "/mnt/nas: rsize=4096 wsize=4096", Limiters: []model.LimiterID{model.NFSConcurrency}, Fix: "take rsize and wsize out of the mount options"}
	for _, tt := range []struct {
		name  string
		c     Case
		found []model.Finding
		named bool
		most  float64
	}{
		{"several calls at once", rsize(6000, 0), []model.Finding{found}, true, smallCallsCap},
		{"and the reader lacks CPU", rsize(6000, 0.9), []model.Finding{found}, true, smallCallsDoubt},
		{"the setting was not found", rsize(6000, 0.9), nil, false, 1},
	} {
		tt.c.Findings = tt.found
		v := Judge(tt.c)
		said := v.Limiter == model.NFSConcurrency && strings.Contains(v.Fix.Advice, "rsize and wsize out") && len(v.Evidence) > 0 && strings.Contains(v.Evidence[0].What, "rsize=4096")
		if said != tt.named || v.Confidence > tt.most {
			t.Errorf("%s: %.2f %s", tt.name, v.Confidence, v.Line)
		}
	}
}

// A weak verdict gives way to a finding whose bound is what was measured, a strong one
// does not, and a bound that is far off is no cause.
func TestFindingsEnterWeakVerdicts(t *testing.T) {
	bound := func(r unit.BitRate) []model.Finding {
		return []model.Finding{{Rule: "pcie-narrow", Severity: "high", Host: "client1", Title: "a slot of one lane", Fix: "use another slot", Bound: &r, Limiters: []model.LimiterID{model.SenderCPU}}}
	}
	weak := func() Case { return knobs{rate: 0.5e9, rtt: 10 * time.Millisecond}.build() }
	strong := knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}.build()
	if v := Judge(weak()); v.Limiter != model.Undetermined && v.Confidence >= 0.5 {
		t.Fatalf("not weak: %.2f %s", v.Confidence, v.Line)
	}
	for _, tt := range []struct {
		name  string
		c     Case
		found []model.Finding
		named bool
	}{
		{"it fits", weak(), bound(530e6), true},
		{"it allows much more", weak(), bound(900e6), false},
		{"it is exceeded", weak(), bound(300e6), false},
		{"the path shows its own limit", strong, bound(530e6), false},
	} {
		tt.c.Findings = tt.found
		v := Judge(tt.c)
		if named := v.Limiter == model.SenderCPU; named != tt.named {
			t.Errorf("%s: %.2f %s", tt.name, v.Confidence, v.Line)
		} else if named && (v.Confidence != sureOfFinding || v.Fix.Advice != "use another slot" || len(v.Causes) != 1) {
			t.Errorf("%s: %+v", tt.name, v)
		}
	}
}
