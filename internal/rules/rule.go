package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/size"
	"linerate/internal/unit"
)

// Rule is one conclusion that can be drawn from the facts of one host. Check fills all of a
// finding but Rule, Host and Limiters.
type Rule struct {
	ID  string
	Doc string // one sentence: what it detects and why that costs goodput
	// Limits are the limiters that linerate explain may name if the finding is what limits a
	// transfer; empty if it limits no transfer by itself.
	Limits []model.LimiterID
	// Counts: the rule judges counters, so a second reading shows whether the event still
	// happens.
	Counts bool
	Check  func(f *model.Facts, c Context) []model.Finding
}

// Context is what is known besides the facts; zero: unknown.
type Context struct {
	LineRate unit.BitRate  // what the path should carry
	RTT      time.Duration // without load
	// Earlier is an earlier reading of the same host. The growth of counters since then shows
	// what happens now.
	Earlier *model.Facts
}

// BDP is the bandwidth-delay product in bytes; 0 if the path is unknown.
func (c Context) BDP() unit.Bytes {
	return size.InFlight(c.LineRate, c.RTT)
}

// Severities, worst first.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
	Info   = "info"
)

// Severities lists them, worst first.
func Severities() []string { return []string{High, Medium, Low, Info} }

// Check runs every rule and returns the findings, worst first: of one rule no more than
// mostFindings, and one that says how many more there are.
func Check(f *model.Facts, c Context) []model.Finding {
	var out []model.Finding
	c = c.complete(f)
	for _, r := range All() {
		for _, found := range fewest(r.Check(f, c)) {
			found.Rule, found.Host, found.Limiters = r.ID, f.Host, r.Limits
			out = append(out, found)
		}
	}
	return worstFirst(out)
}

// mostFindings is how many findings of one rule are told one by one.
const mostFindings = 32

// fewest keeps the worst findings of one rule, and counts the others in one more.
func fewest(list []model.Finding) []model.Finding {
	if len(list) <= mostFindings+1 {
		return list
	}
	list = worstFirst(list)
	next := list[mostFindings]
	return append(list[:mostFindings:mostFindings], model.Finding{
		Severity: next.Severity, Title: fmt.Sprintf("%d more of the same kind", len(list)-mostFindings),
		Observed: fmt.Sprintf("%d in all, of which the worst %d are shown; the next would be: %s", len(list), mostFindings, next.Title),
		Fix:      "as above: a cause that so many share is best looked for in what made them", Source: next.Source,
	})
}

func worstFirst(list []model.Finding) []model.Finding {
	order := Severities()
	slices.SortStableFunc(list, func(a, b model.Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	return list
}

// perRTT is the rate at which n bytes in flight can move: n/RTT.
func perRTT(n unit.Bytes, rtt time.Duration) *unit.BitRate {
	r := size.PerRoundTrip(float64(n), rtt)
	return &r
}

const sysctlPrefix = "linux.sysctl.net.ipv4."

// sysctl returns the value of a net.ipv4 sysctl, and false if it could not be read.
func sysctl(f *model.Facts, name string) (string, bool) {
	v, ok := f.Settings[sysctlPrefix+name]
	if !ok {
		return "", false
	}
	return v.Get()
}

// triple returns default and maximum of a "min default max" sysctl (tcp_rmem, tcp_wmem), in
// bytes.
func triple(f *model.Facts, name string) (def, most unit.Bytes, ok bool) {
	v, ok := sysctl(f, name)
	words := strings.Fields(v)
	if !ok || len(words) != 3 {
		return 0, 0, false
	}
	d, err1 := strconv.ParseInt(words[1], 10, 64)
	m, err2 := strconv.ParseInt(words[2], 10, 64)
	return unit.Bytes(d), unit.Bytes(m), err1 == nil && err2 == nil && d > 0 && m > 0
}

// switchedOff returns the finding f if a 0/1 sysctl is "0".
func switchedOff(facts *model.Facts, name string, f model.Finding) []model.Finding {
	if v, ok := sysctl(facts, name); !ok || v != "0" {
		return nil
	}
	f.Observed = fmt.Sprintf("net.ipv4.%s = 0", name)
	return []model.Finding{f}
}
