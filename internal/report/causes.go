package report

import (
	"linerate/internal/model"
)

// causeView is a limiter that binds once those before it are gone.
type causeView struct{ Limiter, Place, From, Evidence, Advice, Confidence string }

// laterCauses are the causes after the first, in words.
func laterCauses(v model.Verdict) []causeView {
	var out []causeView
	for i, c := range v.Causes {
		if i == 0 {
			continue
		}
		e := ""
		if len(c.Evidence) > 0 {
			e = c.Evidence[0].What
		}
		from := "from a goodput that is " + unknown
		if n := v.NextLimit; i == 1 && n != nil && n.Limiter == c.Limiter {
			from = "from about " + rate(&n.At)
		}
		out = append(out, causeView{string(c.Limiter), place(model.Verdict{Where: c.Where, Host: c.Host}), from, e, causeAdvice(c.Fix), percent(c.Confidence)})
	}
	return out
}

func causeAdvice(f model.Fix) string {
	if f.Kind == model.FixSetting {
		return f.Setting + " on " + f.Host + ": " + f.From + " → " + f.To
	}
	return f.Advice
}
