package rules

import (
	"fmt"
	"strconv"
	"time"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

// smallBuffer is one that is told of even where the path is not known: at 1 ms it carries less
// than 10 Gbit/s.
const smallBuffer = 1250 * unit.KB

func fixedBuffer() Rule {
	return Rule{
		ID:  "fixed-socket-buffer",
		Doc: "illumos gives each connection a buffer of a fixed size unless the program asks for another: such a connection carries at most that per round trip.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			var out []model.Finding
			for _, name := range []string{"send_buf", "recv_buf"} {
				v, ok := f.Settings["illumos.ipadm.tcp."+name].Get()
				n, err := strconv.ParseInt(v, 10, 64)
				if !ok || err != nil || n <= 0 {
					continue
				}
				if found := smallFor(name, unit.Bytes(n), c); found != nil {
					out = append(out, *found)
				}
			}
			return out
		},
	}
}

// fixedFix says how a buffer of n bytes is set to what so many bytes in flight need, as far as one connection can
// have them: beyond that it takes several. command has a place for the number.
func fixedFix(command string, n, flight unit.Bytes) string {
	several := fmt.Sprintf("use at least %s: one cannot have %s in flight", unit.Count(max(2, size.Connections(flight)), "connection"), flight)
	switch {
	case n >= largestFixed:
		return "it is at the most that is of use: " + several
	case 2*flight > largestFixed && flight > size.LargestWindow:
		return fmt.Sprintf(command, int64(largestFixed)) + "; and " + several
	}
	return fmt.Sprintf(command, int64(min(2*flight, largestFixed)))
}

// largestFixed is the largest buffer that these systems take (illumos tcp_tunables.c; FreeBSD's windows end there).
const largestFixed = unit.GiB

// smallFor is the finding where a buffer is too small for the path, or small where none is known.
func smallFor(name string, n unit.Bytes, c Context) *model.Finding {
	found := model.Finding{
		Severity: Info,
		Title:    "one connection carries little over a longer path: " + name,
		Observed: fmt.Sprintf("%s = %d: %s at 1 ms", name, n, *perRTT(n, time.Millisecond)),
		Fix:      "state the path with --line-rate and --rtt to see what it needs: at least rate × round trip, max_buf and _cwnd_max first",
		Source:   "illumos tcp_tunables.c",
	}
	if c.RTT == 0 || c.LineRate == 0 {
		if n >= smallBuffer {
			return nil
		}
		return &found
	}
	bound := perRTT(n, c.RTT)
	if *bound >= c.LineRate {
		return nil
	}
	// No bound: a program that asks for its own size, as servers may, is not held by this one.
	found.Severity = Medium
	found.Title = "a connection's buffer is too small for the path: " + name
	found.Observed = fmt.Sprintf("%s = %d: %s at %s for a program that does not ask for another size", name, n, *bound, c.RTT)
	found.Fix = fixedFix("as root: ipadm set-prop -p "+name+"=%d tcp (raise max_buf and _cwnd_max to it first); it acts on new connections", n, c.BDP())
	return &found
}
