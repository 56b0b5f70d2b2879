package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"linerate/internal/app/load"
	"linerate/internal/unit"
)

func tcpText(r *load.TCPResult) (string, error) {
	var b strings.Builder
	for _, d := range r.Directions {
		fmt.Fprintf(&b, "%s → %s: %v received over %v\n", d.From, d.To, unit.BitRate(d.Goodput), d.Window.Round(time.Millisecond))
	}
	if len(r.Directions) > 1 {
		fmt.Fprintf(&b, "together: %v\n", unit.BitRate(r.Load.Goodput))
	}
	if err := tcpTables(&b, r); err != nil {
		return "", err
	}
	limited := "no"
	if r.Load.GeneratorLimited {
		limited = "perhaps: a thread had no time left, so that these figures may be this program's and not the path's"
	}
	fmt.Fprintf(&b, "\nGenerator limited: %s\n", limited)
	for _, e := range r.Load.Evidence {
		fmt.Fprintf(&b, "  - %s\n", e)
	}
	for _, w := range r.Load.Warnings {
		fmt.Fprintf(&b, "\nWarning: %s", w.What)
		if w.Evidence != "" {
			fmt.Fprintf(&b, " (%s)", w.Evidence)
		}
		fmt.Fprintf(&b, "\n  %s\n", w.Next)
	}
	return b.String(), nil
}

// tcpTables prints what each second brought, what each end took, and what each
// stream spent its time on.
func tcpTables(b *strings.Builder, r *load.TCPResult) error {
	for _, d := range r.Directions {
		if len(d.PerSecond) > 1 {
			fmt.Fprintf(b, "%s per second: %s\n", d.From, perSecond(d.PerSecond))
		}
	}
	w := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "\nCPU per GB\tthreads\tmachine: interrupts\tmachine: busy\tbusiest thread")
	for _, d := range r.Directions {
		for _, e := range []load.End{d.Sender, d.Receiver} {
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
