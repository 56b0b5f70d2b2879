package published

import (
	"math"
	"strings"
	"testing"

	"linerate/internal/unit"
)

const head = "key: SFC\ntitle: T\nauthors: A\nprinted: no date\n"

// full is a run with most fields.
const full = `id: a, where: table 1, protocol: nfs, link: 10Gbit, block: 256KiB, file: 75MB, doubts: [D.], unclear: U., values: [{direction: read, as: over, value: 1.5, to: 2, unit: Gbps, doubts: [E.], unclear: V.}]`

func one(run string) string { return head + "runs:\n  - {" + run + "}\n" }

func TestParse(t *testing.T) {
	p, err := Parse([]byte(one(full)))
	if err != nil || len(p.Results) != 1 {
		t.Fatal(p, err)
	}
	r := p.Results[0]
	if r.ID != "sfc.a.read" || r.Metric != Throughput || r.Link != 10e9 || r.Block != 256*unit.KiB || r.File != 75*unit.MB ||
		r.Rate() != 1.5e9 || r.RateTo() != 2e9 || strings.Join(r.Doubts, "") != "D.E." || r.Unclear != "U. V." || r.Amount() != "over 1.5-2 Gbps" {
		t.Errorf("%+v", r)
	}
}

func TestParseRefuses(t *testing.T) {
	value := func(v string) string { return one("id: a, where: w, values: [{" + v + "}]") }
	for name, in := range map[string]string{
		"no key":            "title: T\nauthors: A\nprinted: x\n",
		"unknown field":     head + "colour: red\n",
		"no values":         one("id: a, where: w"),
		"no number":         value("unit: MB/s, direction: read"),
		"zero":              value("value: 0, unit: MB/s"),
		"negative":          value("value: -1, unit: MB/s"),
		"not a number":      value("value: .nan, unit: MB/s"),
		"infinite":          value("value: .inf, unit: MB/s"),
		"falling range":     value("value: 3, to: 2, unit: MB/s"),
		"infinite range":    value("value: 3, to: .inf, unit: MB/s"),
		"wrong unit":        value("value: 3, unit: ms"),
		"unknown unit":      value("value: 3, unit: MiB/s"),
		"unknown metric":    value("metric: beauty, value: 3, unit: ms"),
		"unknown qualifier": value("as: roughly, value: 3, unit: MB/s"),
		"unknown direction": value("direction: up, value: 3, unit: MB/s"),
		"no place":          one("id: a, values: [{value: 3, unit: MB/s}]"),
		"odd id":            one("id: A b, where: w, values: [{value: 3, unit: MB/s}]"),
		"unknown protocol":  one("id: a, where: w, protocol: afp, values: [{value: 3, unit: MB/s}]"),
		"bad link":          one("id: a, where: w, link: fast, values: [{value: 3, unit: MB/s}]"),
		"bad block":         one("id: a, where: w, block: big, values: [{value: 3, unit: MB/s}]"),
		"bad file":          one("id: a, where: w, file: big, values: [{value: 3, unit: MB/s}]"),
		"negative threads":  one("id: a, where: w, threads: -1, values: [{value: 3, unit: MB/s}]"),
		"above the link":    one("id: a, where: w, link: 1Gbit, values: [{value: 126, unit: MB/s}]"),
		"range above link":  one("id: a, where: w, link: 1Gbit, values: [{value: 100, to: 126, unit: MB/s}]"),
		"beyond any rate":   one("id: a, where: w, values: [{value: 1.0e+300, unit: Gbps}]"),
		"same id twice":     one("id: a, where: w, values: [{value: 3, unit: MB/s}, {value: 4, unit: MB/s}]"),
		"no YAML":           "\t- {",
	} {
		if p, err := Parse([]byte(in)); err == nil {
			t.Errorf("%s: accepted as %+v", name, p.Results)
		}
	}
	if _, err := Parse([]byte(one("id: a, where: w, link: 1Gbit, doubts: [Why.], values: [{value: 126, unit: MB/s}]"))); err != nil {
		t.Errorf("above the link, with a doubt: %v", err)
	}
	if _, err := Parse([]byte(value("metric: retransmits, value: 0, unit: '%'"))); err != nil {
		t.Errorf("no retransmits: %v", err)
	}
}

// A tag is refused by name; without a value the decoder would panic at it.
func TestTagsAreRefused(t *testing.T) {
	for _, in := range []string{"A: \n0\nruns:\n  ! #00000000", head + "runs: !!seq []", "title: ! x\n"} {
		if p, err := Parse([]byte(in)); err == nil || !strings.Contains(err.Error(), "tags are not read") {
			t.Errorf("%q: %+v, %v", in, p, err)
		}
	}
}

// Whatever the file says, a result that is accepted can be printed and placed,
// and is a number.
func FuzzParse(f *testing.F) {
	f.Add([]byte(one("id: a, where: w, link: 1Gbit, doubts: [D.], values: [{value: 1e290, unit: Gbps, as: over}]")))
	f.Add([]byte(head + "runs: [{id: a, where: w, values: [{value: 1, to: 2, unit: '%', metric: cpu}]}]"))
	f.Add([]byte("A: \n0\nruns:\n  ! #00000000"))
	f.Add([]byte(one(full))) // the papers themselves are too long to mutate fast
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Parse(b)
		if err != nil {
			return
		}
		for _, r := range p.Results {
			if r.Value < 0 || math.IsNaN(r.Value) || math.IsInf(float64(r.Rate()), 0) || r.Amount() == "" {
				t.Errorf("accepted %+v", r)
			}
			if s := r.Share(); s != nil && (math.IsNaN(*s) || *s > 1) {
				t.Errorf("%s: share %g", r.ID, *s)
			}
		}
		q, err := ParseQuery("10GbE nfs")
		if err != nil {
			t.Fatal(err)
		}
		Like(p.Results, q)
		if _, err := Place(p.Results, 1e9, q); err != nil {
			t.Error(err)
		}
	})
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{"10GbE NFS read", "mtu 9000", "1e9gbe", "..gbe", "over", "\x00", "smb2.1 jumbo"} {
		f.Add(s)
	}
	all := All()[:40]
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuery(s)
		if err != nil {
			return
		}
		if len(q.Facets) == 0 || q.Link < 0 || math.IsInf(float64(q.Link), 0) {
			t.Errorf("ParseQuery(%q) = %d facets, link %s", s, len(q.Facets), q.Link)
		}
		for _, m := range Like(all, q) {
			if len(m.Matched)+len(m.Missed) != len(q.Facets) {
				t.Errorf("%q: %s matched %v, missed %v", s, m.ID, m.Matched, m.Missed)
			}
		}
	})
}
