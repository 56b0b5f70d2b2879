package explain

import (
	"testing"
	"time"

	"linerate/internal/model"
)

// Rare losses are a slow control's where it is in force, and the path's otherwise.
func TestCongestionControl(t *testing.T) {
	settings := func(now, have string) map[string]string {
		return map[string]string{controlSetting: now, availableSetting: have}
	}
	rare := knobs{rate: 0.1e9, rtt: 10 * time.Millisecond, retrans: 1e-3, cwnd: 90, cc: "reno"}
	for _, tt := range []struct {
		name string
		edit func(k *knobs)
		want model.LimiterID
		fix  model.FixKind
		to   string
	}{
		{"reno, bbr at hand", func(k *knobs) { k.settings = settings("reno", "reno cubic bbr") }, model.CongestionControl, model.FixSetting, "bbr"},
		{"reno, no bbr", func(k *knobs) { k.settings = settings("reno", "reno cubic") }, model.CongestionControl, model.FixOperator, ""},
		{"a program that asks for reno", func(k *knobs) { k.settings = settings("cubic", "reno cubic bbr") }, model.CongestionControl, model.FixOperator, ""},
		{"settings not read", nil, model.CongestionControl, model.FixOperator, ""},
		{"cubic", func(k *knobs) { k.cc = "cubic" }, model.PathLoss, model.FixOperator, ""},
		{"losses that nobody would take", func(k *knobs) { k.retrans = 0.05; k.rate = 1e7; k.cwnd = 9 }, model.PathLoss, model.FixOperator, ""},
		{"far above what losses allow", func(k *knobs) { k.rate = 0.6e9; k.cwnd = 600; k.retrans = 5e-3 }, model.Undetermined, model.FixNone, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := rare
			if tt.edit != nil {
				tt.edit(&k)
			}
			c := k.build()
			v := Judge(c)
			checkVerdict(t, c, v)
			if n := v.NextLimit; tt.want == model.CongestionControl && n != nil && n.Limiter == model.PathLoss {
				t.Errorf("the losses would bind next: %s", v.Line)
			}
			if v.Limiter != tt.want || v.Fix.Kind != tt.fix || v.Fix.To != tt.to || v.Confidence > 0.8 {
				t.Errorf("%.2f %s (%s)", v.Confidence, v.Line, v.Fix.Advice)
			}
		})
	}
}

// Segments so late that the sender gives up on them are not lost.
func TestLateIsNotLost(t *testing.T) {
	for needless, want := range map[float64]model.LimiterID{0.95: model.Reordering, 0.1: model.PathLoss} {
		c := lossy(5e-3).build()
		for i := range c.Sender.Samples {
			x := &c.Sender.Samples[i].Conns[0]
			x.DSACKDups, x.ReordSeen = int(needless*float64(x.TotalRetrans)), 3
		}
		if v := Judge(c); v.Limiter != want {
			t.Errorf("%.0f%% needless: %s", 100*needless, v.Line)
		}
	}
}
