package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// Check is what looking at hosts found, as `linerate check --json` prints it.
type Check struct {
	V     int         `json:"v"`
	Hosts []HostCheck `json:"hosts"`
	Pairs []Pair      `json:"pairs"`

	// Of hosts that a selection of a site has chosen: the selection, what they have in common,
	// and those that could not be looked at.
	Site   string  `json:"site,omitempty"`
	Groups []Group `json:"groups,omitempty"`
	Lost   []Lost  `json:"lost,omitempty"`
}

// Pair is two hosts and the path between their data addresses. What was not
// measured is null; CouldNotSee says why.
type Pair struct {
	A           string         `json:"a"`
	B           string         `json:"b"`
	AInterface  string         `json:"a_interface"`
	BInterface  string         `json:"b_interface"`
	AAddress    string         `json:"a_address"`
	BAddress    string         `json:"b_address"`
	RTT         *int64         `json:"rtt_ns"` // the smallest
	RTTMedian   *int64         `json:"rtt_median_ns"`
	RTTMax      *int64         `json:"rtt_max_ns"`
	RTTs        int            `json:"rtt_n"`
	MTUAToB     *int           `json:"path_mtu_a_to_b"`
	MTUBToA     *int           `json:"path_mtu_b_to_a"`
	AToB        Way            `json:"a_to_b"`
	BToA        Way            `json:"b_to_a"`
	Datagrams   int            `json:"probe_datagrams"`
	Bytes       int            `json:"probe_bytes"`
	Findings    []CheckFinding `json:"findings"`
	CouldNotSee []model.Blind  `json:"could_not_see"`
}

// Way is one direction of a path.
type Way struct {
	Routers *int `json:"routers"` // how many; null: not known
	// Addresses of the routers in order; empty for one that does not answer.
	Addresses []string `json:"router_addresses,omitempty"`
	Falls     *Fall    `json:"mtu_falls,omitempty"`
}

// Fall is between which routers packets above the path MTU vanish: empty is the sender, or the
// far end.
type Fall struct {
	After  string `json:"after"`
	Before string `json:"before"`
}

// words says how many routers there are, and where the path MTU falls.
func (w Way) words() string {
	switch {
	case w.Routers == nil:
		return ""
	case *w.Routers == 0:
		return "no router"
	}
	text := unit.Count(*w.Routers, "router")
	if len(w.Addresses) > 0 {
		var named []string
		for _, a := range w.Addresses {
			named = append(named, cmp.Or(a, "one that does not answer"))
		}
		text += " (" + strings.Join(named, ", ") + ")"
	}
	if w.Falls != nil {
		text += fmt.Sprintf(", larger packets end between %s and %s", cmp.Or(w.Falls.After, "the sender"), cmp.Or(w.Falls.Before, "the far end"))
	}
	return text
}

// Line says in words which way was looked at and what it carries.
func (p Pair) Line() string {
	if p.AAddress == "" {
		return "no path"
	}
	parts := []string{fmt.Sprintf("%s %s ↔ %s %s", p.AInterface, p.AAddress, p.BInterface, p.BAddress)}
	if p.RTT != nil {
		ns := func(v *int64) time.Duration { return time.Duration(*v).Round(time.Microsecond) }
		parts = append(parts, fmt.Sprintf("round trip %v (least of %d; median %v, most %v)", ns(p.RTT), p.RTTs, ns(p.RTTMedian), ns(p.RTTMax)))
	}
	if p.Datagrams == 0 {
		return strings.Join(append(parts, "not probed"), ", ")
	}
	mtu := func(v *int) string {
		if v == nil {
			return "not known"
		}
		return fmt.Sprint(*v)
	}
	if there, back := mtu(p.MTUAToB), mtu(p.MTUBToA); there == back {
		parts = append(parts, "path MTU "+there+" both ways")
	} else {
		parts = append(parts, fmt.Sprintf("path MTU %s there, %s back", there, back))
	}
	if there, back := p.AToB.words(), p.BToA.words(); there != "" && there == back {
		parts = append(parts, there)
	} else {
		for _, way := range [][2]string{{there, "there"}, {back, "back"}} {
			if way[0] != "" {
				parts = append(parts, way[1]+" "+way[0])
			}
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("probed with %d datagrams, %d bytes", p.Datagrams, p.Bytes)), ", ")
}

// HostCheck is one host: either Error says why nothing is known of it, or Facts
// are there.
type HostCheck struct {
	Name  string       `json:"name"`
	Error string       `json:"error,omitempty"`
	Cause error        `json:"-"` // that Error is the text of: what to do next may be behind it
	Facts *model.Facts `json:"facts"`
	// Watched is the time between two looks; 0: there was one. In nanoseconds.
	Watched     time.Duration  `json:"watched_ns,omitempty"`
	Findings    []CheckFinding `json:"findings"`
	CouldNotSee []model.Blind  `json:"could_not_see"`
	// Abilities are how far linerate was tried on the host's system; none of Linux.
	Abilities []model.Ability `json:"abilities,omitempty"`
}

// About says which host this is, in a line: kernel, CPUs, and the interfaces
// that carry something.
func (h HostCheck) About() string {
	f := h.Facts
	if f == nil {
		return ""
	}
	parts := []string{strings.TrimSpace(guide.SystemName(cmp.Or(f.OS, "linux")) + " " + f.Kernel)}
	if n := len(f.CPUs); n > 0 { // else they were not read
		parts = append(parts, unit.Count(n, "CPU"))
	}
	return strings.Join(append(parts, aboutNICs(f.NICs)...), ", ")
}

// mostNICs are named in the line about a host; one that runs containers has hundreds.
const mostNICs = 12

// aboutNICs names the interfaces that carry something, those of cards first where there are many.
func aboutNICs(all []model.NIC) []string {
	nics := slices.DeleteFunc(slices.Clone(all), func(n model.NIC) bool {
		return !n.Up || n.Name == "lo" || len(n.Addrs) == 0 && !n.Physical()
	})
	more := len(nics) - mostNICs
	if more > 0 {
		slices.SortStableFunc(nics, func(a, b model.NIC) int { return cmp.Compare(virtual(a), virtual(b)) })
		nics = nics[:mostNICs]
	}
	var parts []string
	for _, n := range nics {
		what := n.Name
		if speed, ok := n.Speed.Get(); ok {
			what += " " + speed.String()
		}
		parts = append(parts, fmt.Sprintf("%s MTU %d", what, n.MTU))
	}
	if more > 0 {
		parts = append(parts, unit.Count(more, "more interface"))
	}
	return parts
}

func virtual(n model.NIC) int {
	if n.Physical() {
		return 0
	}
	return 1
}

// countFindings words how many there are of each severity, the worst first.
func countFindings(found []CheckFinding) string {
	var parts []string
	for _, s := range rules.Severities() {
		n := 0
		for _, f := range found {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}

// CheckFinding is a finding with the reason why its rule exists.
type CheckFinding struct {
	Rule     string        `json:"rule"`
	Severity string        `json:"severity"`
	Title    string        `json:"title"`
	Observed string        `json:"observed"`
	Why      string        `json:"why"`
	Bound    *unit.BitRate `json:"bound_bps"`
	// Limiters are what linerate explain may name where this is what binds.
	Limiters []model.LimiterID `json:"limiters,omitempty"`
	Fix      string            `json:"fix"`
	Sources  []string          `json:"sources"`
}

// NewCheckFinding adds to a finding why it matters.
func NewCheckFinding(f model.Finding, why string) CheckFinding {
	return CheckFinding{f.Rule, f.Severity, f.Title, f.Observed, why, f.Bound, f.Limiters, f.Fix, strings.Split(f.Source, "; ")}
}

// Document is the check for people.
func (c Check) Document() document.Document {
	if c.Site != "" {
		return c.siteDocument()
	}
	d := document.Document{Title: "linerate check", Headline: "What is wrong with these hosts", Labels: 8}
	if len(c.Hosts) == 1 {
		d.Headline = "What is wrong with this host"
	}
	over := document.Table{Head: document.Columns("Host", "Found")}
	for _, h := range c.Hosts {
		d.Title += " " + h.Name
		s := document.Section{Title: h.Name}
		count := countFindings(h.Findings)
		over.Row(h.Name, count)
		if h.Error != "" {
			over.Rows[len(over.Rows)-1][1].Text = "not looked at"
			s.Blocks = []document.Block{{Text: "Not looked at: " + h.Error}}
		} else {
			if h.Watched > 0 {
				count += fmt.Sprintf("; counters watched for %v", h.Watched.Round(100*time.Millisecond))
			}
			s.Blocks = append([]document.Block{{Note: h.About()}, {Strong: count}}, found(h.Findings, h.CouldNotSee)...)
		}
		d.Sections = append(d.Sections, s)
	}
	for _, p := range c.Pairs {
		s := document.Section{Title: p.A + " ↔ " + p.B, Blocks: []document.Block{{Note: p.Line()}, {Strong: countFindings(p.Findings)}}}
		s.Add(found(p.Findings, p.CouldNotSee)...)
		d.Sections = append(d.Sections, s)
	}
	d.Sections = append(d.Sections, c.tried()...)
	if len(c.Hosts) > 1 {
		d.Lead = []document.Block{{For: document.Papers, Table: &over}}
	}
	return d
}

// tried are sections on how far to trust what stands above, one for each system.
func (c Check) tried() []document.Section {
	var out []document.Section
	seen := map[string]bool{}
	for _, h := range c.Hosts {
		if len(h.Abilities) == 0 || seen[h.Facts.OS] {
			continue
		}
		seen[h.Facts.OS] = true
		t := document.Table{Head: document.Columns("Ability", "Built and tried")}
		for _, a := range h.Abilities {
			t.Row(a.Name, strings.Join(a.Tried, " · "))
		}
		out = append(out, document.Section{Title: "How far linerate was tried on " + guide.SystemName(h.Facts.OS), Blocks: []document.Block{
			{Table: &t},
			{Text: "A recording of your host would change that; send us one, once you have read it:"},
			{Pre: "linerate check HOST --snapshot box.tar.zst"},
			{Note: "docs/systems.md tells what it holds, and what else would help"},
		}})
	}
	return out
}

func found(findings []CheckFinding, blind []model.Blind) []document.Block {
	var out []document.Block
	for _, f := range findings {
		c := document.Card{Class: f.Severity, Tag: f.Severity, Title: f.Title, Pairs: []document.Pair{
			pair("seen", f.Observed), pair("why", f.Why), pair("fix", f.Fix), pair("source", strings.Join(f.Sources, "; ")+" ["+f.Rule+"]")}}
		if f.Bound != nil {
			c.Title += " (at most " + f.Bound.String() + ")"
		}
		out = append(out, document.Block{Card: &c})
	}
	unseen := document.Block{Title: "Not seen"}
	for _, n := range blind {
		unseen.Lines = append(unseen.Lines, document.Line{Text: n.What + " (" + n.WouldShow + "): " + n.How})
	}
	if len(blind) > 0 {
		out = append(out, unseen)
	}
	return out
}
