package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"linerate/internal/load/tcp"
	"linerate/internal/unit"
)

// tcpTables prints what each second brought, what each end took, and what each
// stream spent its time on.
func tcpTables(b *strings.Builder, r tcpResult) error {
	for _, d := range r.Directions {
		if len(d.PerSecond) > 1 {
			fmt.Fprintf(b, "%s per second: %s\n", d.From, perSecond(d.PerSecond))
		}
	}
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nCPU per GB\tthreads\tmachine: interrupts\tmachine: busy\tbusiest thread")
	for _, d := range r.Directions {
		for _, e := range []tcp.End{d.Sender, d.Receiver} {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.0f%% of a core\n", e.Name, perGB(e.Threads), perGB(e.SoftIRQ), perGB(e.Busy), 100*e.Busiest)
		}
	}
	fmt.Fprintln(w, "\nSTREAM\tRATE\tRETRANS\tRTT\tBUSY\tRECEIVE WINDOW\tSEND BUFFER\tCONTROL")
	for _, d := range r.Directions {
		for _, s := range d.Streams[:min(len(d.Streams), 16)] {
			fmt.Fprintf(w, "%v → %v\t%v\t%d\t%v\t%.0f%%\t%.0f%%\t%.0f%%\t%s\n", s.Local, s.Remote, unit.BitRate(s.Rate), s.Retrans,
				s.RTT.Round(time.Microsecond), 100*s.Busy, 100*s.RwndLimited, 100*s.SndbufLimited, s.CC)
		}
	}
	return w.Flush()
}

func perGB(v *float64) string {
	if v == nil {
		return "not known"
	}
	return fmt.Sprintf("%.3f s", *v)
}

// perSecond prints the first of a series in bits per second.
func perSecond(bytes []int64) string {
	var parts []string
	for i, n := range bytes {
		if i == 12 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%.3g", float64(n)*8/1e9))
	}
	return strings.Join(parts, " ") + " Gbit/s"
}
