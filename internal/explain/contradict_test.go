package explain

import (
	"testing"
	"time"

	"linerate/internal/model"
)

// Every sign of the table of limiters has a row of its own, and is read on a
// connection that both ends show.
func TestSignsAreRead(t *testing.T) {
	c := knobs{retrans: 0.001}.build()
	for _, e := range []*End{c.Sender, c.Receiver} {
		for i := range e.Samples {
			e.Samples[i].Throttled = model.Known(time.Duration(0))
		}
	}
	s := look(c).scenes[0]
	for _, l := range model.Limiters() {
		for _, id := range append(l.Must, l.MustNot...) {
			if row := signRow(id); row.Present == "" || row.Absent == "" {
				t.Errorf("%s: no row of sign %s", l.ID, id)
			}
			if s.read(id).sight == notVisible {
				t.Errorf("%s: sign %s is not read", l.ID, id)
			}
		}
	}
}

// What contradicts a verdict is listed, caps its confidence, and is in its line.
func TestContradicted(t *testing.T) {
	slow := knobs{rate: 0.5e9, rtt: 18 * time.Millisecond}
	for _, tc := range []struct {
		name  string
		k     knobs
		out   []model.LimiterID // taken out of the engine
		named model.LimiterID
		sign  model.Sign // "" for none
	}{
		{"a slow link", slow, nil, model.LinkRate, ""},
		{"a reader that is not known to want a CPU", func() knobs { k := slow; k.wait = [2]float64{0, 0.9}; return k }(), []model.LimiterID{model.ReceiverCPU}, model.LinkRate, model.ReaderShort},
		{"a slow reader that is not known", knobs{rate: 0.3e9, rtt: 10 * time.Millisecond, full: true, wnd: 400 << 10, rwnd: 1, recvQ: 2 << 20}, []model.LimiterID{model.ApplicationSink}, model.ReceiverWindow, model.DataUnread},
		{"a writer that is not known to want a CPU", knobs{rate: 0.3e9, notsent: -1, appLtd: true, sendQ: 1, wait: [2]float64{0.9, 0}}, []model.LimiterID{model.SenderCPU}, model.ApplicationSource, model.WriterShort},
	} {
		v := JudgeWithout(tc.k.build(), tc.out...)
		if v.Limiter != tc.named {
			t.Errorf("%s: %s", tc.name, v.Line)
			continue
		}
		if tc.sign == "" {
			if len(v.Contradictions) > 0 || v.Confidence < 0.7 {
				t.Errorf("%s: %.2f %v", tc.name, v.Confidence, v.Contradictions)
			}
			continue
		}
		if len(v.Contradictions) == 0 || v.Contradictions[0].Sign != tc.sign || v.Confidence > contradictedCap || v.Causes[0].Confidence > contradictedCap {
			t.Errorf("%s: %.2f %v: %s", tc.name, v.Confidence, v.Contradictions, v.Line)
		}
	}
}

// No recording that is judged rightly is contradicted, but for one that says itself
// that its window still grows back.
func TestRightVerdictsStand(t *testing.T) {
	for _, l := range allLabels(t) {
		v := Judge(recorded(t, l.Name))
		if l.right(v) && len(v.Contradictions) > 0 && v.Confidence > 0.45 {
			t.Errorf("%s: %.2f %v", l.Name, v.Confidence, v.Contradictions)
		}
		if len(v.Contradictions) > 0 {
			t.Logf("%s: %s (%.2f): %v", l.Name, v.Limiter, v.Confidence, v.Contradictions)
		}
	}
}
