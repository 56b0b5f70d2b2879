package load

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/unit"
)

// Requirement is what a load is to reach, such as p99<5ms.
type Requirement struct {
	Text   string
	metric string
	less   bool
	orSame bool
	bound  float64 // nanoseconds, bytes or bits per second, or a number
}

// Checked is a requirement held against a load.
type Checked struct {
	Require string `json:"require"`
	Of      string `json:"of,omitempty"` // the run, where there are several
	// Measured is in the words of the figures; empty: there is no such figure.
	Measured string `json:"measured"`
	Met      bool   `json:"met"`
}

// latencies, and the other figures, that can be required.
func latencies() []string { return []string{"p50", "p99", "p99.9", "max"} }
func figuresOf(tcp bool) []string {
	if tcp {
		return []string{"rate"}
	}
	return append(latencies(), "iops", "rate", "failed")
}

// ParseRequirement reads METRIC<BOUND, with < <= > or >=: p50, p99, p99.9 and max are
// latencies; iops requests per second; rate bytes per second (500MB/s), of TCP bits per
// second (9Gbit); failed how many requests failed.
func ParseRequirement(text string, tcp bool) (Requirement, error) {
	r := Requirement{Text: strings.ReplaceAll(text, " ", "")}
	at := strings.IndexAny(r.Text, "<>")
	if at < 1 {
		return r, fmt.Errorf("require %q: want a figure and its bound, such as %s", text, map[bool]string{false: "p99<5ms", true: "rate>9Gbit"}[tcp])
	}
	r.metric, r.less = strings.ToLower(r.Text[:at]), r.Text[at] == '<'
	bound, same := strings.CutPrefix(r.Text[at+1:], "=")
	r.orSame = same
	if !slices.Contains(figuresOf(tcp), r.metric) {
		return r, fmt.Errorf("require %q: this load has %s", text, strings.Join(figuresOf(tcp), ", "))
	}
	var err error
	switch {
	case slices.Contains(latencies(), r.metric):
		var d time.Duration
		d, err = unit.ParseTime(bound)
		r.bound = float64(d)
	case r.metric == "rate" && tcp:
		var b unit.BitRate
		b, err = unit.ParseBitRate(bound)
		r.bound = float64(b)
	case r.metric == "rate":
		var b unit.Bytes
		b, err = unit.ParseBytes(strings.TrimSuffix(bound, "/s"))
		r.bound = float64(b)
	default:
		r.bound, err = strconv.ParseFloat(bound, 64)
		if err != nil || !(r.bound >= 0) {
			err = fmt.Errorf("%q is no number", bound)
		}
	}
	if err != nil {
		return r, fmt.Errorf("require %q: %w", text, err)
	}
	return r, nil
}

// Require holds requirements against the load, and keeps with its result what came of
// them. A figure that the load does not have, since nothing succeeded, meets nothing.
func (m *Made) Require(list []Requirement) (all []Checked) {
	for _, r := range list {
		switch v := m.Value.(type) {
		case *BlockResult:
			all = append(all, r.onBlocks("", v.Load))
		case *JobsResult:
			for _, run := range v.Runs {
				all = append(all, r.onBlocks(run.Load.Workload, run.Load))
			}
		case *TCPResult:
			all = append(all, r.check("", &v.Load.Goodput, v.Load.Goodput > 0, unit.BitRate(v.Load.Goodput).String()))
		}
	}
	if len(all) > 0 {
		m.Value.required(all)
	}
	return all
}

func (r Requirement) onBlocks(of string, l Summary) Checked {
	value, text := 0.0, ""
	switch r.metric {
	case "iops":
		value, text = l.IOPS, fmt.Sprintf("%.0f", l.IOPS)
	case "rate":
		value, text = l.BytesPerS, unit.Bytes(l.BytesPerS).String()+"/s"
	case "failed":
		value, text = float64(l.Failed), strconv.FormatInt(l.Failed, 10)
		return r.check(of, &value, true, text)
	default:
		if l.Latency == nil {
			return r.check(of, nil, false, "")
		}
		ns := map[string]int64{"p50": l.Latency.P50, "p99": l.Latency.P99, "p99.9": l.Latency.P999, "max": l.Latency.Max}[r.metric]
		value, text = float64(ns), unit.Short(time.Duration(ns)).String()
	}
	return r.check(of, &value, l.Requests > 0, text)
}

func (r Requirement) check(of string, value *float64, seen bool, text string) Checked {
	c := Checked{Require: r.Text, Of: of}
	if !seen || value == nil {
		return c
	}
	c.Measured = text
	c.Met = r.less && *value < r.bound || !r.less && *value > r.bound || r.orSame && *value == r.bound
	return c
}
