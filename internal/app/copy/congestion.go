package copy

import (
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/move/wire"
)

// MaybeCongestion tells whether a kernel could have a congestion control of this name.
func MaybeCongestion(name string) bool { return wire.Congestion(name).IsName() }

// lossBased are the congestion controls of Linux that take each loss for a full queue.
var lossBased = []string{"reno", "cubic", "bic", "htcp", "westwood", "highspeed", "scalable"}

// another advises a congestion control that losses slow down less than the one that the connections
// had, if losses held the copy back and this user may choose it on the sender; else "".
func another(held model.LimiterID, had string, sender *model.Facts) string {
	if held != model.PathLoss && held != model.CongestionControl || sender == nil || !slices.Contains(lossBased, had) {
		return ""
	}
	list := "linux.sysctl.net.ipv4.tcp_allowed_congestion_control"
	if sender.UID == 0 {
		list = "linux.sysctl.net.ipv4.tcp_available_congestion_control"
	}
	if !slices.Contains(strings.Fields(sender.Settings[list].Or("")), "bbr") {
		return ""
	}
	return "try the same copy with --congestion bbr, which single losses do not slow down as they do " + had + "; on a path that others use it gives way to them less"
}

// advise adds to the limiter's advice what an option of the copy itself could do.
func (w *watched) advise(l *Limiter, had string) {
	w.mu.Lock()
	sender := w.ends[0].facts
	w.mu.Unlock()
	if more := another(l.ID, had, sender); more != "" {
		l.Advice = strings.TrimPrefix(l.Advice+"; or "+more, "; or ")
	}
}
