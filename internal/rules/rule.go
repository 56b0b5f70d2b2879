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

// Rule is one conclusion that can be drawn from the facts of one host. Check
// fills all of a finding but Rule and Host.
type Rule struct {
	ID  string
	Doc string // one sentence: what it looks for and why that costs goodput
	// Limits are the limiters that linerate explain may name where what this rule
	// finds is what binds a transfer; empty: it holds back no transfer by itself.
	Limits []model.LimiterID
	// Counts: it concludes from counters, so that a second look tells whether
	// what it saw still happens.
	Counts bool
	Check  func(f *model.Facts, c Context) []model.Finding
}

// Context is what is known beside the facts; zero is unknown.
type Context struct {
	LineRate unit.BitRate  // what the path should carry
	RTT      time.Duration // without load
	// Earlier is an earlier look at the same host: what counters rose by in
	// between is what happens now.
	Earlier *model.Facts
}

// BDP is the bandwidth-delay product in bytes: what must be in flight to fill
// the path. It is 0 when the path is not known.
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

// Check runs every rule and returns the findings, worst first.
func Check(f *model.Facts, c Context) []model.Finding {
	var out []model.Finding
	c = c.complete(f)
	for _, r := range All() {
		for _, found := range r.Check(f, c) {
			found.Rule, found.Host, found.Limiters = r.ID, f.Host, r.Limits
			out = append(out, found)
		}
	}
	order := Severities()
	slices.SortStableFunc(out, func(a, b model.Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	return out
}

// perRTT is the rate at which n bytes in flight can move: n/RTT.
func perRTT(n unit.Bytes, rtt time.Duration) *unit.BitRate {
	r := size.PerRoundTrip(float64(n), rtt)
	return &r
}

const sysctlPrefix = "linux.sysctl.net.ipv4."

// sysctl returns a net.ipv4 sysctl, and false when it could not be read.
func sysctl(f *model.Facts, name string) (string, bool) {
	v, ok := f.Settings[sysctlPrefix+name]
	if !ok {
		return "", false
	}
	return v.Get()
}

// triple returns the "min default max" in bytes of tcp_rmem or tcp_wmem.
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

// switchedOff is the finding list of a 0/1 sysctl: f if it reads "0".
func switchedOff(facts *model.Facts, name string, f model.Finding) []model.Finding {
	if v, ok := sysctl(facts, name); !ok || v != "0" {
		return nil
	}
	f.Observed = fmt.Sprintf("net.ipv4.%s = 0", name)
	return []model.Finding{f}
}
