package published

import (
	"slices"
	"strings"
	"testing"

	"linerate/internal/unit"
)

func query(t *testing.T, s string) Query {
	t.Helper()
	q, err := ParseQuery(s)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func kinds(q Query) string {
	var out []string
	for _, f := range q.Facets {
		out = append(out, f.Kind)
	}
	return strings.Join(out, " ")
}

func TestParseQuery(t *testing.T) {
	for in, want := range map[string]string{
		"10GbE NFS read":               "link protocol direction",
		"10 GbE nfs reads":             "link protocol direction",
		"CIFS writes over 1 Gbit/s":    "protocol direction link",
		"mtu 9000, smb":                "mtu protocol",
		"jumbo iozone sfc throughput":  "mtu text paper metric",
		"2.5GbE":                       "link",
		"\tcit\n":                      "paper",
		"smb2.1 with nvme, on solaris": "text text text",
	} {
		if got := kinds(query(t, in)); got != want {
			t.Errorf("ParseQuery(%q): %s, want %s", in, got, want)
		}
	}
	if q := query(t, "40 GbE tcp"); q.Link != 40*unit.Gbit {
		t.Errorf("link %s", q.Link)
	}
	for _, in := range []string{"", "   ", "over the", "0gbe", "1.2.3gbe"} {
		if q, err := ParseQuery(in); err == nil {
			t.Errorf("ParseQuery(%q) = %s, want an error", in, kinds(q))
		}
	}
}

func ids(ms []Match) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.ID)
	}
	return out
}

func TestLike(t *testing.T) {
	ms := Like(All(), query(t, "10GbE NFS read"))
	want := []string{"atto.t6.x200.read", "atto.t6.s200.read", "nappit.nfs-osx.read", "sfc.single.read", "sfc.cluster.read"}
	if got := ids(Nearest(ms)); !slices.Equal(got, want) {
		t.Errorf("10GbE NFS read: %v, want %v", got, want)
	}
	for i, m := range ms {
		if len(m.Matched)+len(m.Missed) != 3 || len(m.Matched) == 0 {
			t.Errorf("%s: matched %v, missed %v of three words", m.ID, m.Matched, m.Missed)
		}
		if i > 0 && len(ms[i-1].Missed) > len(m.Missed) {
			t.Errorf("%s misses fewer words than the one before it", m.ID)
		}
	}
	for _, in := range []string{"iscsi latency", "cit nfs"} { // none has both
		got := Nearest(Like(All(), query(t, in)))
		if len(got) == 0 || len(got[0].Missed) != 1 || len(got[len(got)-1].Missed) != 1 {
			t.Errorf("%q: %v", in, ids(got))
		}
	}
	if got := Nearest(Like(All(), query(t, "no-such-thing"))); len(got) != 0 {
		t.Errorf("no-such-thing is like %v", ids(got))
	}
	if got := ids(Nearest(Like(All(), query(t, "smb2.1 solaris nvme read")))); !slices.Equal(got, []string{"nappit.solaris-nvme.read"}) {
		t.Errorf("smb2.1 solaris nvme read: %v", got)
	}
	jumbo := Nearest(Like(All(), query(t, "jumbo nfs")))
	if len(jumbo) != 6 { // table 6, and two of NAPPIT
		t.Errorf("jumbo nfs: %v", ids(jumbo))
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		query                                    string
		rate                                     unit.BitRate
		compared, lower, higher, cannot, leftOut int
		best                                     string
	}{
		{"10GbE NFS read", 3.9e9, 4, 1, 3, 0, 0, "sfc.cluster.read"},
		{"10GbE NFS read", 9.5e9, 4, 3, 0, 1, 0, "sfc.cluster.read"}, // "over 9 Gbps" has no end
		{"10GbE NFS read", 8.9e9, 4, 3, 1, 0, 0, "sfc.cluster.read"},
		// 575 MB/s are 4.6 Gbit/s, or 4.82 in units of 2^20; 565 are 4.52 or 4.74.
		{"10GbE NFS read", 4.7e9, 4, 1, 1, 2, 0, "sfc.cluster.read"},
		{"10GbE NFS read", 4.8e9, 4, 2, 1, 1, 0, "sfc.cluster.read"},
		{"10GbE NFS read", 4.85e9, 4, 3, 1, 0, 0, "sfc.cluster.read"},
		{"40GbE tcp", 37e9, 1, 1, 0, 0, 1, "cit.pcie3.transfer"},
		// Sums over sites and over seven servers are no rate of a path.
		{"tcp write", 1e9, 0, 0, 0, 0, 1, ""},
		{"transfer", 37e9, 1, 1, 0, 0, 3, "cit.pcie3.transfer"},
		{"local read", 3e9, 6, 3, 3, 0, 2, "nappit.fb-caches-on.read"},
		{"dell", 3e9, 0, 0, 0, 0, 0, ""}, // no throughput is printed in it
	} {
		p, err := Place(All(), c.rate, query(t, c.query))
		if err != nil {
			t.Fatal(err)
		}
		best := ""
		if len(p.Compared) > 0 {
			best = p.Compared[0].ID
		}
		if len(p.Compared) != c.compared || p.Lower != c.lower || p.Higher != c.higher || p.CannotTell != c.cannot || p.LeftOut != c.leftOut || best != c.best {
			t.Errorf("place %s in %q: %d compared, %d lower, %d higher, %d cannot tell, %d left out, best %q; want %+v",
				c.rate, c.query, len(p.Compared), p.Lower, p.Higher, p.CannotTell, p.LeftOut, best, c)
		}
		for i, r := range p.Compared {
			if r.Claim || r.Unclear != "" || r.Metric != Throughput {
				t.Errorf("%q: compared with %s", c.query, r.ID)
			}
			if i > 0 && r.Rate() > p.Compared[i-1].Rate() {
				t.Errorf("%q: %s is not in order", c.query, r.ID)
			}
		}
	}
}

func TestPlaceRefuses(t *testing.T) {
	for _, rate := range []unit.BitRate{0, -1, 10.1e9} {
		if _, err := Place(All(), rate, query(t, "10GbE nfs")); err == nil {
			t.Errorf("%s on 10 GbE was placed", rate)
		}
	}
}

func TestPlaceShare(t *testing.T) {
	p, err := Place(All(), 3.9e9, query(t, "10GbE NFS read"))
	if err != nil || p.Share == nil || *p.Share < 0.3899 || *p.Share > 0.3901 {
		t.Errorf("3.9 of 10: %v, %v", p.Share, err)
	}
	p, err = Place(All(), 3.9e9, query(t, "NFS read"))
	if err != nil || p.Share != nil {
		t.Errorf("no link named: %v, %v", p.Share, err)
	}
}
