package copy

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

func TestAnotherCongestionControlIsNamedWhereLossesHeldTheCopy(t *testing.T) {
	sender := func(uid int, available, allowed string) *model.Facts {
		return &model.Facts{UID: uid, Settings: map[string]model.Fact[string]{
			"linux.sysctl.net.ipv4.tcp_available_congestion_control": model.Known(available),
			"linux.sysctl.net.ipv4.tcp_allowed_congestion_control":   model.Known(allowed),
		}}
	}
	for name, c := range map[string]struct {
		held   model.LimiterID
		had    string
		sender *model.Facts
		want   bool
	}{
		"losses":                    {model.PathLoss, "cubic", sender(0, "reno cubic bbr", "reno cubic"), true},
		"a control that is slow":    {model.CongestionControl, "reno", sender(1000, "reno cubic bbr", "reno bbr"), true},
		"this user may not have it": {model.PathLoss, "cubic", sender(1000, "reno cubic bbr", "reno cubic"), false},
		"the host has none":         {model.PathLoss, "cubic", sender(0, "reno cubic", "reno cubic"), false},
		"something else held it":    {model.PathQueue, "cubic", sender(0, "reno cubic bbr", "reno cubic"), false},
		"it had that one":           {model.PathLoss, "bbr", sender(0, "reno cubic bbr", "reno cubic"), false},
		"a network of its own kind": {model.PathLoss, "dctcp", sender(0, "reno dctcp bbr", "reno"), false},
		"not told":                  {model.PathLoss, "", sender(0, "reno cubic bbr", "reno cubic"), false},
		"nobody has looked":         {model.PathLoss, "cubic", nil, false},
	} {
		w := &watched{}
		w.ends[0].facts = c.sender
		for _, before := range []string{"", "find where they are lost"} {
			l := &Limiter{ID: c.held, Advice: before}
			w.advise(l, c.had)
			if named := strings.Contains(l.Advice, "--congestion bbr"); named != c.want || !strings.HasPrefix(l.Advice, before) || strings.HasPrefix(l.Advice, ";") {
				t.Errorf("%s: %q", name, l.Advice)
			}
		}
	}
}
