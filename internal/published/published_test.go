package published

import (
	"slices"
	"strings"
	"testing"

	"linerate/internal/unit"
)

func find(t *testing.T, id string) Result {
	t.Helper()
	all := All()
	i := slices.IndexFunc(all, func(r Result) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("no result %s", id)
	}
	return all[i]
}

// The counts were taken in the papers: 15 rows of two in tables 2 to 7 and a
// sentence for ATTO, and so on. A result that gets lost or doubled shows here.
func TestCountPerPaper(t *testing.T) {
	want := map[string]int{"ATTO": 31, "DELL": 22, "NAPPIT": 94, "SFC": 4, "CIT": 11}
	ids := map[string]bool{}
	for _, p := range Papers() {
		if len(p.Results) != want[p.Key] {
			t.Errorf("%s has %d results, want %d", p.Key, len(p.Results), want[p.Key])
		}
		if len(p.Gaps) == 0 || len(p.Remarks) == 0 {
			t.Errorf("%s: no remarks or no gaps; every one of the papers has some", p.Key)
		}
		for _, r := range p.Results {
			if ids[r.ID] {
				t.Errorf("%s is there twice", r.ID)
			}
			ids[r.ID] = true
		}
	}
	var keys []string
	for _, p := range Papers() {
		keys = append(keys, p.Key)
	}
	if !slices.Equal(keys, Keys()) {
		t.Errorf("papers %v, keys %v", keys, Keys())
	}
}

func TestNames(t *testing.T) {
	want := []struct {
		key, title, authors string
		year                int
	}{
		{"ATTO", "ATTO Technology 10 Gigabit Ethernet Network Adapter Configuration Guide", "EMC Solutions Group", 2012},
		{"DELL", "Windows Server 2012 NIC Optimization and Best Practices with EqualLogic SAN", "Dell Storage Engineering", 2013},
		{"NAPPIT", "napp-it ZFS Storage principles for high performance SMB fileservices", "napp-it", 0},
		{"SFC", "Superior NFS Performance using Solarflare Server Adapters", "Solarflare", 0},
		{"CIT", "Evaluation of 40 Gigabit Ethernet technology for data servers", "Azher Mughal, Artur Barczyk", 2012},
	}
	for i, p := range Papers() {
		w := want[i]
		if p.Key != w.key || !strings.HasPrefix(p.Title, w.title) || !strings.HasPrefix(p.Authors, w.authors) || p.Year != w.year {
			t.Errorf("%s: %q by %q, %d; want %+v", p.Key, p.Title, p.Authors, p.Year, w)
		}
	}
}

// No value is zero but where none is a result, none is above its link's rate
// without a doubt that says why, and what the text leaves open is no fact.
func TestValuesCanBe(t *testing.T) {
	for _, r := range All() {
		if !(r.Value > 0) && r.Metric != Retransmits {
			t.Errorf("%s: value %g", r.ID, r.Value)
		}
		if r.Metric == Throughput && !(r.Rate() > 0) {
			t.Errorf("%s: throughput without a rate", r.ID)
		}
		if r.Link > 0 && r.Rate() > r.Link && len(r.Doubts) == 0 {
			t.Errorf("%s: %s over a link of %s", r.ID, r.Rate(), r.Link)
		}
		if s := r.Share(); s != nil && (*s <= 0 || *s > 1) {
			t.Errorf("%s: share %g", r.ID, *s)
		}
		if r.Claim && r.Unclear == "" && len(r.Doubts) == 0 {
			t.Errorf("%s: a claim without a word on what is missing", r.ID)
		}
		if r.Protocol == "local" && r.Link > 0 {
			t.Errorf("%s: local, but over a link", r.ID)
		}
		for _, d := range append(slices.Clone(r.Doubts), r.Unclear) {
			if d != "" && !strings.HasSuffix(d, ".") {
				t.Errorf("%s: no sentence: %q", r.ID, d)
			}
		}
	}
}

// Typed from the papers by hand, not from the data.
func TestSpotChecks(t *testing.T) {
	for _, c := range []struct {
		id, where, amount string
		link              unit.BitRate
		rate              unit.BitRate // 0: no throughput
	}{
		{"atto.t2.x410.read", "table 2", "600 MB/s", 10e9, 4.8e9},
		{"atto.t2.s200-lacp.write", "table 2, last row", "400 MB/s", 10e9, 3.2e9},
		{"atto.t3.x200.read", "table 3", "90 MB/s", 1e9, 0.72e9},
		{"atto.t4.x200.read", "table 4", "95 MB/s", 10e9, 0.76e9},
		{"atto.t4.x410.write", "table 4", "350 MB/s", 10e9, 2.8e9},
		{"atto.t5.s200.write", "table 5", "50 MB/s", 1e9, 0.4e9},
		{"atto.t6.s200.read", "table 6", "575 MB/s", 10e9, 4.6e9},
		{"atto.t6.s200.write", "table 6", "150 MB/s", 10e9, 1.2e9},
		{"atto.t7.s200.read", "table 7", "110 MB/s", 1e9, 0.88e9},
		{"atto.jumbo.change", "Network design", "up to 10-20% more", 10e9, 0},
		{"dell.rss-off.read", "section 4.2.2", "30% less", 10e9, 0},
		{"dell.isoe-random.mixed", "section 4.2.10", "over 30% more", 10e9, 0},
		{"dell.isoe-sequential.read", "section 4.2.10", "10% more", 10e9, 0},
		{"dell.congested-ndis.retransmits", "sections 4.2.4 and 4.2.10", "0.11%", 10e9, 0},
		{"dell.congested-toe.cpu", "section 4.2.4", "about 4%", 10e9, 0},
		{"dell.congested-isoe.cpu", "section 4.2.10", "about 1.5%", 10e9, 0},
		{"nappit.client-disk.write", "section Client", "994 MB/s", 0, 7.952e9},
		{"nappit.six-clients.write", "round 1, six clients", "130-200 MB/s", 10e9, 1.04e9},
		{"nappit.solaris-z2.read", "round 2, pool RAID-Z2", "836 MB/s", 10e9, 6.688e9},
		{"nappit.solaris-nvme.write", "round 2, pool NVMe", "605 MB/s", 10e9, 4.84e9},
		{"nappit.nfs-osx.write", "SMB2 vs NFS", "70 MB/s", 10e9, 0.56e9},
		{"nappit.win10.write", "SMB2 on Windows 10", "867 MB/s", 10e9, 6.936e9},
		{"nappit.dedup-lz4.read", "round 5", "647 MB/s", 10e9, 5.176e9},
		{"nappit.sandforce-pal.write-sustained", "Sandforce SSD, PAL frames", "about 360 MB/s", 10e9, 2.88e9},
		{"nappit.sierra.after", "OSX 10.12 Sierra", "up to 200-300 MB/s", 10e9, 1.6e9},
		{"nappit.fb-caches-on.read", "Effect of Readcache", "5256.7 MB/s", 0, 42.0536e9},
		{"nappit.fb-wd-green.latency", "Effect of Readcache", "304 ms", 0, 0},
		{"nappit.fb-wd-re4.cpu_per_op", "Effect of Readcache", "205954 us", 0, 0},
		{"sfc.cluster.read", "Benefits", "over 9 Gbps", 10e9, 9e9},
		{"sfc.single.write", "Benefits", "about 4×", 10e9, 0},
		{"sfc.b2b.change", "Results", "almost 10×", 10e9, 0},
		{"cit.pcie3.transfer", "SC11 - PCIe Gen3", "36.8 Gbps", 40e9, 36.8e9},
		{"cit.40ge.transfer", "40GE line rate", "39.6 Gbps", 40e9, 39.6e9},
		{"cit.sc11-disk.write", "SC11 - Disk to Disk", "up to 60 Gbps", 0, 60e9},
		{"cit.sc11-100g.throughput", "SC11 - Servers Testing", "186 Gbps", 100e9, 186e9},
		{"cit.40ge-cpu.core16", "40GE line rate", "24.4%", 40e9, 0},
	} {
		r := find(t, c.id)
		if r.Where != c.where || r.Amount() != c.amount || r.Link != c.link || !near(r.Rate(), c.rate) {
			t.Errorf("%s: %s, %s, link %s, rate %s; want %s, %s, %s, %s", c.id, r.Where, r.Amount(), r.Link, r.Rate(), c.where, c.amount, c.link, c.rate)
		}
	}
}

// near allows for what floating point cannot hold, no more.
func near(a, b unit.BitRate) bool { return a-b < 1 && b-a < 1 }

// The doubts that must never get lost.
func TestDoubts(t *testing.T) {
	for id, want := range map[string]string{
		"sfc.cluster.read":               "4 MiB file",
		"dell.jumbo.read":                "4.4%",
		"dell.toe.change":                "recommend it all the same",
		"dell.nagle-off.change":          "may mean not applied",
		"dell.congested-ndis.cpu":        "core that is full",
		"atto.t2.s200-lacp.read":         "no valid bond",
		"atto.t4.x200.read":              "1 GbE link carries",
		"cit.40ge.transfer":              "16 MiB buffers",
		"nappit.win10.write":             "bad cable",
		"nappit.fb-caches-on.read":       "server's RAM",
		"nappit.lz4.write":               "may be chance",
		"nappit.jumbo.change":            "4.4%",
		"nappit.hgst-pal.read":           "server's RAM",
		"nappit.fb-wd-green-async.write": "power fails",
	} {
		if all := strings.Join(find(t, id).Doubts, " "); !strings.Contains(all, want) {
			t.Errorf("%s: doubts %q do not say %q", id, all, want)
		}
	}
	if find(t, "cit.sc11-100g.throughput").Share() != nil {
		t.Error("186 Gbps on 100 Gbit/s printed as a share of the link")
	}
}

// The reason given with jumbo frames, from the sizes on the wire: 38 bytes of
// Ethernet (preamble, header, checksum, gap) and 40 of IPv4 and TCP.
func TestJumboBound(t *testing.T) {
	gain := (8960.0 / (9000 + 38)) / (1460.0 / (1500 + 38))
	if gain < 1.0435 || gain > 1.0445 {
		t.Errorf("fewer headers give %.4f, the doubts say 4.4%%", gain)
	}
	for _, r := range All() {
		if r.Metric == Change && strings.Contains(r.Change, "instead of 1500") && !strings.Contains(strings.Join(r.Doubts, ""), "4.4%") {
			t.Errorf("%s: more from jumbo frames than they can give, and no doubt says so", r.ID)
		}
	}
}
