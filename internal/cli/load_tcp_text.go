package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"linerate/internal/app/load"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

func tcpDocument(r *load.TCPResult) (d document.Document) {
	for _, x := range r.Directions {
		d.Lead = append(d.Lead, document.Block{Strong: fmt.Sprintf("%s → %s: %v received over %v", x.From, x.To, unit.BitRate(x.Goodput), x.Window.Round(time.Millisecond))})
	}
	if len(r.Directions) > 1 {
		d.Lead = append(d.Lead, document.Block{Strong: fmt.Sprintf("together: %v", unit.BitRate(r.Load.Goodput))})
	}
	for _, x := range r.Directions {
		if len(x.PerSecond) > 1 {
			d.Lead = append(d.Lead, document.Block{Text: x.From + " per second: " + perSecond(x.PerSecond)})
		}
	}
	d.Add("CPU per GB", cpuTable(r).Block())
	d.Add("", streamTable(r).Block())
	d.Add("", document.List("Generator limited: "+generatorLimited(r), r.Load.Evidence...))
	var warnings document.Block
	for _, w := range r.Load.Warnings {
		warnings.Lines = append(warnings.Lines, document.Line{Label: "warning", Strong: w.What, Note: w.Evidence, Next: w.Next})
	}
	d.Add("", warnings)
	return d
}

// generatorLimited is no only where it was seen.
func generatorLimited(r *load.TCPResult) string {
	if r.Load.GeneratorLimited {
		return "perhaps: a thread had no time left or waited for a core, so that these figures may be this program's or a busy machine's and not the path's"
	}
	seen := "no"
	for _, d := range r.Directions {
		for _, e := range []load.End{d.Sender, d.Receiver} {
			switch {
			case e.Busiest != nil:
			case e.Process == nil:
				return "not known: what the threads of " + e.Name + " took was not seen"
			default:
				seen = "no thread ran out of time; whether one waited for a core was not seen"
			}
		}
	}
	return seen
}

// cpuTable is what each end took.
func cpuTable(r *load.TCPResult) document.Table {
	t := document.Table{Head: document.Columns("", "#threads", "#machine: interrupts", "#machine: busy", "#busiest thread")}
	for _, d := range r.Directions {
		for _, e := range []load.End{d.Sender, d.Receiver} {
			t.Row(e.Name, perGB(e.Threads), perGB(e.SoftIRQ), perGB(e.Busy), busiest(e))
		}
	}
	return t
}

// streamTable is what each stream spent its time on.
func streamTable(r *load.TCPResult) document.Table {
	t := document.Table{Head: document.Columns("Stream", "#Rate", "#Retrans", "#RTT", "#Busy", "#Receive window", "#Send buffer", "Control")}
	share := unit.Percent
	for _, d := range r.Directions {
		if len(d.Streams) == 0 {
			t.Row("of "+d.From+": not known", "", "", "", "", "", "", "")
		}
		for _, s := range d.Streams[:min(len(d.Streams), 16)] {
			t.Row(fmt.Sprintf("%v → %v", s.Local, s.Remote), unit.BitRate(s.Rate).String(), strconv.FormatInt(int64(s.Retrans), 10), s.RTT.Round(time.Microsecond).String(),
				share(s.Busy), share(s.RwndLimited), share(s.SndbufLimited), s.CC)
		}
	}
	return t
}

func busiest(e load.End) string {
	switch {
	case e.Busiest != nil:
		return fmt.Sprintf("%.0f%% of a core", 100**e.Busiest)
	case e.Process != nil:
		return fmt.Sprintf("not known (all: %.0f%%)", 100**e.Process)
	}
	return "not known"
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
