package explain

import (
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
)

// The account of a recording whose verdict is right closes, its parts add up, and a
// verdict that does not explain what is missing is capped and says so.
func TestAccount(t *testing.T) {
	for _, l := range allLabels(t) {
		c := recorded(t, l.Name)
		v := Judge(c)
		a := v.Account
		if a == nil {
			if s := v.ShareOfCeiling; c.Sender != nil && len(look(c).scenes) > 0 && s != nil && *s < belowCeiling {
				t.Errorf("%s: %s without an account", l.Name, v.Line)
			}
			continue
		}
		var sum, open bitRate
		for _, p := range a.Parts {
			sum += p.Rate
			if p.Limiter == "" {
				open += p.Rate
			}
		}
		if math.Abs(float64(sum-a.Missing)) > 1e-6*float64(a.Missing) || math.Abs(float64(*v.Ceiling-v.Measured-a.Missing)) > 1e-6*float64(a.Missing) || open != a.Unexplained {
			t.Errorf("%s: %+v", l.Name, a)
		}
		if near := *v.ShareOfCeiling >= atCeiling; !a.Closes && !near && !claimsNothing(v.Limiter) {
			if v.Confidence > openCap || v.Causes[0].Confidence > openCap || len(v.Notes) == 0 {
				t.Errorf("%s: %.2f %+v", l.Name, v.Confidence, a)
			}
			// The sender runs dry in the first, too, and the others are not of one cause.
			if l.Name != "cases/reordering-15ms" && !strings.HasPrefix(l.Name, "mixed/") {
				t.Errorf("%s: %s leaves %s of %s", l.Name, v.Limiter, a.Unexplained, a.Missing)
			}
		}
	}
}

// Half of the time nothing waits to be sent and half of it the window is full: either
// limiter alone leaves half of it open.
func TestAccountOfTwoHalves(t *testing.T) {
	c := knobs{rate: 0.3e9, rtt: 10 * time.Millisecond, full: true, wnd: 400 << 10, rwnd: 0.5}.build()
	for i := range c.Sender.Samples {
		x := &c.Sender.Samples[i].Conns[0]
		x.RwndLimited = 0
		if i >= len(c.Sender.Samples)*6/10 {
			x.NotSent, x.Unacked, x.SendQ = 0, 10, 10*1448
		}
	}
	if v := Judge(c); v.Account == nil || !v.Account.Closes || len(v.Causes) < 2 || v.Causes[1].Limiter != model.ApplicationSource {
		t.Errorf("both known: %s %+v", v.Line, v.Account)
	}
	v := JudgeWithout(c, model.ApplicationSource)
	if v.Limiter != model.ReceiverWindow || v.Account == nil || v.Account.Closes || v.Confidence > openCap {
		t.Errorf("%s %+v", v.Line, v.Account)
	}
}

// A mount's account is of its calls.
func TestAccountOfCalls(t *testing.T) {
	v := Judge(mounted(20, 0, 300*time.Millisecond, 300*time.Millisecond, inBursts))
	a := v.Account
	if v.Limiter != model.ServerTime || a == nil || !a.Closes || a.Parts[0].Limiter != model.ServerTime {
		t.Errorf("%s %+v", v.Line, a)
	}
}
