package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"linerate/internal/report/document"
	"linerate/internal/rules"
	"linerate/internal/unit"
)

// Group is a finding that several hosts of a site have: the same rule, as severe.
type Group struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Title    string `json:"title"` // of the host that it bounds most
	Observed string `json:"observed"`
	Why      string `json:"why"`
	Fix      string `json:"fix"`
	// Bound and MostBound are the least and the greatest throughput that it caps hosts at; null:
	// it bounds none.
	Bound     *unit.BitRate `json:"bound_bps"`
	MostBound *unit.BitRate `json:"most_bound_bps"`
	Example   string        `json:"example"` // the host that title, observed and fix are of
	Hosts     []string      `json:"hosts"`   // that have it, by name
	Sources   []string      `json:"sources"`

	varies bool // title is not that of all hosts: it names a device, say
}

// Lost are hosts that could not be looked at, for the same reason.
type Lost struct {
	Why   string   `json:"why"`
	Hosts []string `json:"hosts"`
}

// GroupHosts puts equal findings of many hosts together, worst first, and equal reasons why hosts
// could not be looked at. A host that has a finding several times, of several devices, is counted
// once.
func GroupHosts(hosts []HostCheck) (groups []Group, lost []Lost) {
	at, why := map[[2]string]int{}, map[string]int{}
	for _, h := range hosts {
		if h.Error != "" {
			// The host's own name in the reason would keep equal reasons apart.
			text := strings.ReplaceAll(h.Error, h.Name, "HOST")
			if _, ok := why[text]; !ok {
				why[text] = len(lost)
				lost = append(lost, Lost{Why: text})
			}
			l := &lost[why[text]]
			l.Hosts = append(l.Hosts, h.Name)
		}
		for _, f := range h.Findings {
			key := [2]string{f.Rule, f.Severity}
			if _, ok := at[key]; !ok {
				at[key] = len(groups)
				groups = append(groups, Group{Rule: f.Rule, Severity: f.Severity, Why: f.Why, Sources: f.Sources})
			}
			groups[at[key]].add(h.Name, f)
		}
	}
	for i := range groups {
		slices.Sort(groups[i].Hosts)
	}
	slices.SortStableFunc(groups, worse)
	slices.SortStableFunc(lost, func(a, b Lost) int { return len(b.Hosts) - len(a.Hosts) })
	return groups, lost
}

// add counts a host's finding; the finding with the lowest bound is the example.
func (g *Group) add(host string, f CheckFinding) {
	if !slices.Contains(g.Hosts, host) {
		g.Hosts = append(g.Hosts, host)
	}
	g.varies = g.varies || g.Example != "" && f.Title != g.Title
	if g.Example == "" || f.Bound != nil && (g.Bound == nil || *f.Bound < *g.Bound) {
		g.Example, g.Title, g.Observed, g.Fix, g.Bound = host, f.Title, f.Observed, f.Fix, f.Bound
	}
	if f.Bound != nil && (g.MostBound == nil || *f.Bound > *g.MostBound) {
		g.MostBound = f.Bound
	}
}

// worse orders groups: by severity; then those that bound throughput, the lowest bound first; then
// by how many hosts have it.
func worse(a, b Group) int {
	rank := func(g Group) int { return slices.Index(rules.Severities(), g.Severity) }
	bound := func(g Group) float64 {
		if g.Bound == nil {
			return 1e18 // above any rate
		}
		return float64(*g.Bound)
	}
	return cmp.Or(rank(a)-rank(b), cmp.Compare(bound(a), bound(b)), len(b.Hosts)-len(a.Hosts), strings.Compare(a.Rule, b.Rule))
}

// namesShown is how many hosts of a group are named on a page; --json has all.
const namesShown = 12

// someNames names the first of many hosts.
func someNames(hosts []string) string {
	if len(hosts) <= namesShown {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:namesShown], ", "), len(hosts)-namesShown)
}

// siteDocument is the check of a site's hosts: what they have in common, not one after the other.
func (c Check) siteDocument() document.Document {
	d := document.Document{Title: "linerate check", Headline: "What is wrong with " + unit.Count(len(c.Hosts), "host"), Labels: 8}
	clean, lost := 0, 0
	for _, h := range c.Hosts {
		if h.Error == "" && len(h.Findings) == 0 {
			clean++
		}
		if h.Error != "" {
			lost++
		}
	}
	d.Lead = []document.Block{{Strong: fmt.Sprintf("%s, nothing found on %d, %d not looked at", unit.Count(len(c.Hosts), "host"), clean, lost)}}
	s := document.Section{}
	for _, g := range c.Groups {
		s.Add(document.Block{Card: g.card()})
	}
	for _, l := range c.Lost {
		s.Add(document.Block{Card: &document.Card{Title: unit.Count(len(l.Hosts), "host") + " not looked at", Pairs: []document.Pair{
			pair("why", l.Why), pair("hosts", someNames(l.Hosts))}}})
	}
	d.Sections = []document.Section{s}
	return d
}

// card is a group for people.
func (g Group) card() *document.Card {
	c := document.Card{Class: g.Severity, Tag: g.Severity, Title: unit.Count(len(g.Hosts), "host") + ": " + g.Title}
	if g.varies && len(g.Hosts) > 1 {
		c.Title = unit.Count(len(g.Hosts), "host") + ", such as " + g.Example + ": " + g.Title
	}
	switch {
	case g.Bound != nil && *g.MostBound > *g.Bound:
		c.Title += fmt.Sprintf(" (at most %v to %v)", g.Bound, g.MostBound)
	case g.Bound != nil:
		c.Title += fmt.Sprintf(" (at most %v)", g.Bound)
	}
	c.Pairs = []document.Pair{
		pair("hosts", someNames(g.Hosts)), pair("seen", g.Observed+" (on "+g.Example+")"), pair("why", g.Why), pair("fix", g.Fix),
		pair("source", strings.Join(g.Sources, "; ")+" ["+g.Rule+"]"),
	}
	return &c
}
