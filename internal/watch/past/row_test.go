package past

import (
	"testing"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
)

// A set of hosts is recorded together; of a path only its own two hosts count.
func TestAPathHasItsOwnHosts(t *testing.T) {
	g := Gather{Span: 10 * time.Second}
	host := func(name string) watch.Host {
		return watch.Host{Name: name, Cores: []watch.Core{{User: 0.5}}, Marks: []watch.Mark{{At: noon.Add(time.Second), Host: name, What: "x"}}}
	}
	for s := range 3 {
		at := noon.Add(time.Duration(s) * time.Second)
		one, other := picture(at, loss, unit.Gbit), picture(at, loss, unit.Gbit)
		one.Hosts, other.Hosts = []watch.Host{host("a"), host("b")}, []watch.Host{host("ab"), host("b")}
		other.Path = "ab – b"
		g.Add([]watch.Picture{one, other})
	}
	records := g.Close()
	d, ok := DigestOf("ab – b", noon, noon.Add(10*time.Second), records)
	if !ok || len(d.Hosts) != 2 || d.Hosts[0].Name != "ab" || d.Hosts[1].Name != "b" {
		t.Errorf("%+v", d.Hosts)
	}
	for _, m := range d.Marks {
		if m.Host == "a" {
			t.Errorf("a mark of another path's host: %+v", m)
		}
	}
	p, ok := records[0].Picture("a – b")
	if !ok || len(p.Hosts) != 2 || p.Hosts[0].Name != "a" {
		t.Errorf("%+v", p.Hosts)
	}
	if !Ends("/mnt/nas", "localhost") || Ends("a – b", "c") || len(MarksOf([]Mark{{What: "a run"}, {Host: "c"}}, "a – b")) != 1 {
		t.Error("which hosts a path has")
	}
}
