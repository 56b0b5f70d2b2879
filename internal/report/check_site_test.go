package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"linerate/internal/unit"
)

func TestEqualFindingsOfManyHostsAreOne(t *testing.T) {
	rate := func(v float64) *unit.BitRate { r := unit.BitRate(v); return &r }
	var c Check
	for i := range 412 {
		h := HostCheck{Name: fmt.Sprintf("site:n%03d", i), Findings: []CheckFinding{
			{Rule: "rcvbuf", Severity: "high", Title: "Receive buffer below what the path holds", Bound: rate(1e9 + float64(i)), Observed: fmt.Sprintf("seen on %d", i)},
		}}
		switch {
		case i%2 == 0: // of two ports
			h.Findings = append(h.Findings, CheckFinding{Rule: "ring", Severity: "low", Title: "eth0"}, CheckFinding{Rule: "ring", Severity: "low", Title: "eth1"})
		case i == 7:
			h.Findings = append(h.Findings, CheckFinding{Rule: "mtu", Severity: "high", Title: "MTU", Bound: rate(1e6)}, CheckFinding{Rule: "rcvbuf", Severity: "info", Title: "older"})
		}
		c.Hosts = append(c.Hosts, h)
	}
	for i := range 3 {
		name := fmt.Sprintf("site:x%d", i)
		c.Hosts = append(c.Hosts, HostCheck{Name: name, Error: "reach " + name + ": no answer"})
	}
	c.Hosts = append(c.Hosts, HostCheck{Name: "site:good"})
	c.Groups, c.Lost = GroupHosts(c.Hosts)
	var got []string
	for _, g := range c.Groups {
		got = append(got, fmt.Sprintf("%d %s %s", len(g.Hosts), g.Severity, g.Rule))
	}
	if want := "1 high mtu; 412 high rcvbuf; 206 low ring; 1 info rcvbuf"; strings.Join(got, "; ") != want {
		t.Errorf("%s; want %s", strings.Join(got, "; "), want)
	}
	if g := c.Groups[1]; g.Example != "site:n000" || g.Observed != "seen on 0" || *g.MostBound != *rate(1e9 + 411) {
		t.Errorf("%+v", g)
	}
	if len(c.Lost) != 1 || len(c.Lost[0].Hosts) != 3 || c.Lost[0].Why != "reach HOST: no answer" {
		t.Errorf("%+v", c.Lost)
	}
	c.Site = "all"
	var page bytes.Buffer
	if err := c.Document().Markdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"416 hosts, nothing found on 1, 3 not looked at", "412 hosts: Receive buffer below what the path holds", "and 400 more", "3 hosts not looked at", "1 host: MTU", "206 hosts, such as site:n000: eth0"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
}

func TestNoHostsAreNoGroups(t *testing.T) {
	if g, l := GroupHosts(nil); g != nil || l != nil {
		t.Errorf("%v, %v", g, l)
	}
}
