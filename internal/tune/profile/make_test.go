package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/guide"
	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// book is read once for all tests: it takes a tenth of a second.
var book = sync.OnceValue(readCatalogue)

func subject(t testing.TB, host string) Subject {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../../testdata/hosts", host, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	var f model.Facts
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return Subject{Facts: &f}
}

// reads stands for the host: sysctls and what the NIC's facts hold.
func reads(s Subject, asks []Ask) map[Ask]Reading {
	out := map[Ask]Reading{}
	for _, a := range asks {
		r := Reading{Missing: "this host was recorded without it"}
		if v, ok := s.Facts.Settings[a.Setting].Get(); ok {
			r.Value = v
		}
		for _, n := range s.Facts.NICs {
			if n.Device != a.Target {
				continue
			}
			ring, hasRing := n.Ring.Get()
			switch {
			case a.Setting == "linux.link.mtu":
				r.Value = fmt.Sprint(n.MTU)
			case a.Setting == "linux.ethtool.ring" && hasRing:
				r.Value = fmt.Sprintf("rx=%d", ring.Rx)
			}
		}
		out[a] = r
	}
	return out
}

func made(s Subject, p Profile, sets ...Set) []Row {
	return makeRows(book().settings, p, sets, s, reads(s, Asks(p, sets, s)))
}

func mustBuiltin(t testing.TB, name string) Profile {
	t.Helper()
	p, ok := builtin(name, book())
	if !ok {
		t.Fatalf("no profile %s", name)
	}
	return p
}

// Each recorded host with the profile that fits it: the golden file shows what
// an engineer would read.
func TestPlansOfRecordedHosts(t *testing.T) {
	for _, c := range []struct {
		host, profile string
		path          func(Subject) Path
	}{
		{"dtn-40g-sick", "transfer-node-wan", func(Subject) Path {
			return Path{Peer: "dtn2", Dev: "ens4", Rate: 40 * unit.Gbit, RateFrom: "stated", RTT: 16 * time.Millisecond, RTTFrom: "stated", PeerMTU: 9000}
		}},
		{"nas-client-bond-sick", "nfs-client", func(s Subject) Path { return PathOf(s.Facts) }},
		{"nfs-client", "nfs-client", func(s Subject) Path { return PathOf(s.Facts) }},
		{"iscsi-initiator-sick", "iscsi-initiator", func(s Subject) Path { return PathOf(s.Facts) }},
		{"zfs-filer-100g", "zfs-filer", func(s Subject) Path { return PathOf(s.Facts) }},
		{"vm-virtio", "transfer-node-lan", func(s Subject) Path { return PathOf(s.Facts) }},
	} {
		t.Run(c.host, func(t *testing.T) {
			s := subject(t, c.host)
			s.Path = c.path(s)
			var b strings.Builder
			fmt.Fprintf(&b, "path %+v\nfits %v\n", s.Path, Fits(s.Facts))
			for _, r := range made(s, mustBuiltin(t, c.profile)) {
				mark := "    "
				if r.Change {
					mark = "set "
				}
				fmt.Fprintf(&b, "%s%s %s: %q default %q → %q\n      %s\n", mark, r.Setting, r.Device, r.Now, r.Default, r.To, r.Why)
			}
			golden.Same(t, filepath.Join("testdata", c.host+".txt"), b.String())
		})
	}
}

// host is a made-up one: a 10 Gbit/s port, 64 GiB, Linux 6.12.
func host() Subject {
	f := &model.Facts{
		Host: "nas1", Kernel: "6.12.0", CPUs: []int{0, 1, 2, 3}, Memory: model.Known(64 * unit.GiB),
		Settings: map[string]model.Fact[string]{},
		NICs: []model.NIC{{
			Name: "eth0", Device: "pci:0000:01:00.0", Speed: model.Known(10 * unit.Gbit), MTU: 1500, Up: true,
			Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")},
		}},
	}
	return Subject{Facts: f, Path: Path{Peer: "client1", Dev: "eth0", Rate: 10 * unit.Gbit, RTT: 10 * time.Millisecond}}
}

func one(line Line) Profile {
	var err error
	if line.rule, err = parseTemplate(line.Value + line.AtLeast); err != nil {
		panic(err)
	}
	if line.when, err = parseCondition(line.When); err != nil {
		panic(err)
	}
	if line.Cap != "" {
		x, err := parseExpression(line.Cap)
		if err != nil {
			panic(err)
		}
		line.cap = &x
	}
	return Profile{Name: "p", Lines: []Line{line}}
}

const rmem = "linux.sysctl.net.ipv4.tcp_rmem"

func TestValueRules(t *testing.T) {
	window := Line{Setting: rmem, AtLeast: "keep keep {need / streams}", Cap: "memory / 16 / streams", Reason: "r"}
	for name, c := range map[string]struct {
		line Line
		now  string
		with func(*Subject)
		to   string // of a change; empty: none
		why  string
	}{
		"a window follows the path": {window, "4096 131072 6291456", nil, "4096 131072 25000000",
			"r; 2 × rate 10 Gbit/s × RTT 10 ms / 8 = 25000000 B"},
		"more connections need less each": {window, "4096 131072 6291456", func(s *Subject) { s.Path.Streams = 3 }, "4096 131072 8333334", "3 connections"},
		"memory caps it":                  {window, "4096 131072 6291456", func(s *Subject) { s.Facts.Memory = model.Known(256 * unit.MiB) }, "4096 131072 16777216", "; capped at 16777216"},
		"the kernel caps it": {window, "4096 131072 6291456", func(s *Subject) {
			s.Facts.Memory, s.Path.Rate, s.Path.RTT = model.Known(384*unit.GiB), 100*unit.Gbit, 100*time.Millisecond
		}, "4096 131072 2147483647", "; capped at 2147483647"},
		"the cap never lowers what runs": {window, "4096 131072 20000000", func(s *Subject) { s.Facts.Memory = model.Known(256 * unit.MiB) }, "",
			"already 19.1 MiB; the rule asks for 25000000, more than its cap"},
		"what runs is enough":          {window, "4096 131072 6291456", func(s *Subject) { s.Path.RTT = 200 * time.Microsecond }, "", "default already 6 MiB, enough for 126 Gbit/s at 200 µs on one connection"},
		"a larger value of somebody's": {window, "4096 131072 67108864", nil, "", "already 64 MiB, enough for 26.8 Gbit/s at 10 ms on one connection"},
		"nearly enough is enough":      {window, "4096 131072 24000000", nil, "", "already 22.9 MiB, enough for 9.6 Gbit/s at 10 ms"},
		"a lowered value goes back to the default": {window, "4096 131072 262144", func(s *Subject) { s.Path.RTT = time.Millisecond }, "4096 131072 6291456",
			"/ 8 = 2500000 B; the kernel's default of 6291456 is more"},
		"no round trip, no window":       {window, "4096 131072 6291456", func(s *Subject) { s.Path.RTT = 0 }, "", "the round trip is not known, and without it no window is recommended: --to PEER measures it, --rtt states it"},
		"no rate, no window":             {window, "4096 131072 6291456", func(s *Subject) { s.Path.Rate = 0 }, "", "the rate of the path is not known"},
		"no memory, no cap":              {window, "4096 131072 6291456", func(s *Subject) { s.Facts.Memory = model.Fact[unit.Bytes]{} }, "", "memory is not known"},
		"an old constant, exactly meant": {Line{Setting: rmem, Value: "4096 87380 16777216", Reason: "r"}, "4096 131072 33554432", nil, "", "already 32 MiB, enough for 13.4 Gbit/s at 10 ms"},
		"a constant that raises a part":  {Line{Setting: rmem, Value: "4096 87380 16777216", Reason: "r"}, "4096 131072 6291456", nil, "4096 131072 16777216", "r"},
		"a shape that cannot be compared": {Line{Setting: rmem, AtLeast: "{need}", Reason: "r"}, "4096 131072 6291456", nil, "",
			"nothing is lowered unasked"},
		"nothing to keep":        {Line{Setting: rmem, AtLeast: "keep keep keep {need}", Reason: "r"}, "4096 131072 6291456", nil, "", "has no word to keep"},
		"a switch":               {Line{Setting: "linux.sysctl.net.ipv4.tcp_slow_start_after_idle", Value: "0", Reason: "r"}, "1", nil, "0", "r"},
		"a switch that is so":    {Line{Setting: "linux.sysctl.net.ipv4.tcp_sack", Value: "1", Reason: "r"}, "1", nil, "", "already so by this kernel's default"},
		"back to safety":         {Line{Setting: "linux.sysctl.net.ipv4.tcp_timestamps", Value: "1", Reason: "r"}, "0", nil, "1", "r"},
		"safety is not traded":   {Line{Setting: "linux.sysctl.net.ipv4.tcp_timestamps", Value: "0", Reason: "r"}, "1", nil, "", "trades data safety: only by name, --set linux.sysctl.net.ipv4.tcp_timestamps='0'"},
		"a condition that fails": {Line{Setting: "linux.link.mtu", AtLeast: "9000", When: "peer_mtu >= 9000", Reason: "r"}, "1500", func(s *Subject) { s.Path.PeerMTU = 1500 }, "", "only where peer_mtu >= 9000; here: MTU 1500 at client1"},
		"a condition not known":  {Line{Setting: "linux.link.mtu", AtLeast: "9000", When: "peer_mtu >= 9000", Reason: "r"}, "1500", nil, "", "larger frames need every hop and both ends"},
		"a condition that holds": {Line{Setting: "linux.link.mtu", AtLeast: "9000", When: "peer_mtu >= 9000", Reason: "r"}, "1500", func(s *Subject) { s.Path.PeerMTU = 9000 }, "9000", "r"},
		"an MTU never falls":     {Line{Setting: "linux.link.mtu", AtLeast: "9000", Reason: "r"}, "9216", nil, "", "already 9"},
		"a finding that is not":  {Line{Setting: "linux.ethtool.ring", AtLeast: "rx={min(2 * now, rx_max)}", Finding: "ring-overrun", Reason: "r"}, "rx=512", nil, "", "nothing here has the finding ring-overrun"},
		"a mount option is advice": {Line{Setting: "linux.mount.nfs.nconnect", AtLeast: "4", Reason: "r"}, "default", func(s *Subject) {
			s.Facts.Mounts = []model.Mount{{Point: "/mnt/nas", Type: "nfs4"}}
		}, "", "unmount /mnt/nas, add nconnect=4 to its options"},
		"an option that nobody wrote": {Line{Setting: "linux.samba.multichannel", Value: "yes", Reason: "r"}, "unset", nil, "", "already so"},
		"no interface":                {Line{Setting: "linux.link.mtu", AtLeast: "9000", Reason: "r"}, "1500", func(s *Subject) { s.Path.Dev = "" }, "", "which interface carries the data is not known"},
		"parts go by their names":     {Line{Setting: "linux.ethtool.ring", AtLeast: "tx={2 * now} rx=1024", Reason: "r"}, "rx=2048 tx=256", nil, "rx=2048 tx=512", "2 * now = 512"},
		"a slip of the units":         {Line{Setting: rmem, AtLeast: "keep keep {need}", Reason: "r"}, "4096 131072 6291456", func(s *Subject) { s.Path.RTT = 10000 * time.Hour }, "", "see the units"},
		"nothing divides by zero":     {Line{Setting: rmem, AtLeast: "keep keep {1 / (cpus - 4)}", Reason: "r"}, "4096 131072 6291456", nil, "", "want a number that is not negative"},
		"or takes the other":          {Line{Setting: rmem, AtLeast: "keep keep {or(bdp, 8MiB)}", Reason: "r"}, "4096 131072 6291456", func(s *Subject) { s.Path.RTT = 0 }, "4096 131072 8388608", "r"},
	} {
		t.Run(name, func(t *testing.T) {
			s := host()
			if c.with != nil {
				c.with(&s)
			}
			p := one(c.line)
			now := map[Ask]Reading{}
			for _, a := range Asks(p, nil, s) {
				now[a] = Reading{Value: c.now}
			}
			rows := makeRows(book().settings, p, nil, s, now)
			if len(rows) != 1 {
				t.Fatalf("%d rows", len(rows))
			}
			r := rows[0]
			if r.Change != (c.to != "") || r.Change && r.To != c.to || !strings.Contains(r.Why, c.why) {
				t.Errorf("change %v to %q: %s; want %q: %s", r.Change, r.To, r.Why, c.to, c.why)
			}
		})
	}
}

// What is typed is taken as it is: lower, and at the price that it has.
func TestTyped(t *testing.T) {
	s, p := host(), mustBuiltin(t, "nfs-client")
	read := func(a Ask) Reading {
		switch a.Setting {
		case rmem:
			return Reading{Value: "4096 131072 6291456"}
		case "linux.sysctl.net.ipv4.tcp_timestamps":
			return Reading{Value: "1"}
		}
		return Reading{Missing: "not there"}
	}
	sets := []Set{{Setting: rmem, Value: "4096 87380 1048576"}, {Setting: "linux.sysctl.net.ipv4.tcp_timestamps", Value: "0"}}
	now := map[Ask]Reading{}
	for _, a := range Asks(p, sets, s) {
		now[a] = read(a)
	}
	n := 0
	for _, r := range makeRows(book().settings, p, sets, s, now) {
		switch r.Setting {
		case rmem:
			n++
			if !r.Change || !r.Typed || r.To != sets[0].Value || !strings.Contains(r.Why, "lower than what runs, as typed") {
				t.Errorf("%+v", r)
			}
		case "linux.sysctl.net.ipv4.tcp_timestamps":
			n++
			if !r.Change || r.Trades != "data safety" {
				t.Errorf("%+v", r)
			}
		}
	}
	if n != 2 {
		t.Errorf("%d rows for what was typed", n)
	}
}

func TestTypedForADevice(t *testing.T) {
	s := host()
	s.Facts.NICs = append(s.Facts.NICs, model.NIC{Name: "eth1", Device: "pci:0000:01:00.1"})
	p := one(Line{Setting: "linux.link.mtu", AtLeast: "9000", Reason: "r"})
	sets := []Set{{"linux.link.mtu", "eth1", "1400"}, {"linux.link.mtu", "eth9", "1400"}}
	now := map[Ask]Reading{}
	for _, a := range Asks(p, sets, s) {
		now[a] = Reading{Value: "1500"}
	}
	rows := makeRows(book().settings, p, sets, s, now)
	if len(rows) != 3 || rows[0].Device != "eth0" || rows[0].To != "9000" || rows[1].Target != "pci:0000:01:00.1" || rows[1].To != "1400" {
		t.Fatalf("%+v", rows)
	}
	if rows[2].Change || !strings.Contains(rows[2].Why, "there is no interface eth9: there are eth0, eth1") {
		t.Errorf("%+v", rows[2])
	}
}

func TestTrades(t *testing.T) {
	stamps := guide.Setting{Trades: "data safety, when set to 0"}
	filter := guide.Setting{Trades: "security, when lowered"}
	always := guide.Setting{Trades: "data safety"}
	for _, c := range []struct {
		s              guide.Setting
		from, to, want string
	}{
		{stamps, "1", "0", "data safety"}, {stamps, "0", "1", ""}, {filter, "1", "0", "security"}, {filter, "1", "2", ""},
		{always, "standard", "disabled", "data safety"}, {guide.Setting{}, "1", "0", ""},
	} {
		if got := Trades(c.s, c.from, c.to); got != c.want {
			t.Errorf("%q from %s to %s: %q, want %q", c.s.Trades, c.from, c.to, got, c.want)
		}
	}
}

func TestPathTo(t *testing.T) {
	near := host().Facts
	peer := &model.Facts{NICs: []model.NIC{{Name: "ens1", Speed: model.Known(1 * unit.Gbit), MTU: 9000, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.9/24")}}}}
	to := netip.MustParseAddr("192.0.2.9")
	p := PathTo(near, to, "client1", peer)
	if p.Dev != "eth0" || p.Rate != unit.Gbit || p.RateFrom != "client1's ens1" || p.PeerMTU != 9000 {
		t.Errorf("%+v", p)
	}
	peer.NICs[0].Speed = model.Known(100 * unit.Gbit)
	if p = PathTo(near, to, "client1", peer); p.Rate != 10*unit.Gbit || p.RateFrom != "this end's eth0" {
		t.Errorf("%+v", p)
	}
	if p = PathTo(near, to, "client1", nil); p.PeerMTU != 0 || !strings.Contains(p.RateFrom, "not looked at") {
		t.Errorf("%+v", p)
	}
	if p = PathTo(near, netip.MustParseAddr("203.0.113.1"), "x", peer); p.Dev != "" || p.Rate != 0 {
		t.Errorf("no route: %+v", p)
	}
}

func TestBondsAreSetAtTheirPorts(t *testing.T) {
	s := subject(t, "nas-client-bond-sick")
	s.Path = Path{Dev: "bond0"}
	for setting, want := range map[string]string{"linux.ethtool.ring": "ens2f0 ens2f1", "linux.link.mtu": "bond0"} {
		at, err := s.targets(setting, "")
		var names []string
		for _, a := range at {
			names = append(names, a.name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", setting, got, err, want)
		}
	}
}

func TestFormulas(t *testing.T) {
	env := values{host(), guide.Setting{ID: rmem, TimesBDP: 2}, new([]string)}
	for text, want := range map[string]float64{
		"1 + 2 * 3": 7, "(1 + 2) * 3": 9, "8 / 2 / 2": 2, "10 - 3 - 2": 5, "4MiB": 4 << 20, "1.5 KiB": 1536, "10Gbit": 1e10,
		"16ms * rate / 8": 2e7, "min(3, 1, 2)": 1, "max(3, 1)": 3, "pow2(33)": 64, "pow2(0)": 1, "or(peer_mtu, 7)": 7, "or(cpus, 7)": 4,
		"rtt": 0.01, "bdp": 12.5e6, "need": 25e6, "own_rate": 1e10,
	} {
		x, err := parseExpression(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := x.value(env); err != nil || got != want {
			t.Errorf("%s = %v, %v, want %v", text, got, err, want)
		}
	}
	x, err := parseExpression("peer_mtu")
	if err != nil {
		t.Fatal(err)
	}
	var unknown *UnknownError
	if _, err := x.value(env); !errors.As(err, &unknown) {
		t.Errorf("%v", err)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{"keep keep {need / streams}", "rx={min(2 * now, rx_max)}", "a b=c {1e9}", "{or(rtt, 1)}"} {
		f.Add(s, "4096 131072 6291456")
	}
	f.Add("keep keep {need / streams}", "4096 1\xff\x00072 62E5691456")
	f.Fuzz(func(t *testing.T, text, now string) {
		tpl, err := parseTemplate(text)
		if err != nil {
			return
		}
		_ = tpl.like()
		out, numbers, err := tpl.evaluate(evaluation{env: values{host(), guide.Setting{ID: rmem, TimesBDP: 2}, new([]string)}, now: now, amount: true})
		if err != nil {
			return
		}
		if len(strings.Fields(out)) != len(tpl.words) || len(numbers) > len(tpl.words) {
			t.Errorf("%q on %q gives %q", text, now, out)
		}
		// What cannot be compared is refused by who asks Lowers; a number never falls.
		if falls, _ := compare(now, out); falls && len(strings.Fields(now)) == len(tpl.words) {
			t.Errorf("%q on %q gives %q: lower", text, now, out)
		}
	})
}

// A route that is not named is the one that leads to the other end, by the metric
// that tells it from others to the same place.
func TestRouteToTheOtherEnd(t *testing.T) {
	f := host().Facts
	to := netip.MustParseAddr("192.0.2.9")
	const setting = "linux.route.quickack"
	s := Subject{Facts: f, Path: PathTo(f, to, "client1", nil)}
	if at, err := s.targets(setting, ""); err != nil || len(at) != 1 || at[0].id != "route:192.0.2.0/24" {
		t.Errorf("%+v, %v", at, err)
	}
	f.Routes = append(f.Routes, model.Route{Dst: netip.MustParsePrefix("192.0.2.0/24"), Dev: "eth0", Metric: 100})
	s.Path = PathTo(f, to, "client1", nil)
	if at, err := s.targets(setting, ""); err != nil || len(at) != 1 || at[0].id != "route:192.0.2.0/24@100" {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := s.targets(setting, "route:0.0.0.0/0"); err != nil || at[0].id != "route:0.0.0.0/0" {
		t.Errorf("named: %+v, %v", at, err)
	}
	s.Path = Path{}
	if at, err := s.targets(setting, ""); err == nil {
		t.Errorf("no path, and yet %+v", at)
	}
}
