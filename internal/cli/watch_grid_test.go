package cli

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
	"linerate/internal/watch"
)

// pathIn is a picture of a path on which so much of its ceiling of 1 Gbit/s moves.
func pathIn(n watch.Named, of float64) watch.Picture {
	ceiling := unit.Gbit
	return watch.Picture{Path: "client – nas", Shown: n, Goodput: unit.BitRate(of) * unit.Gbit, Ceiling: &ceiling, At: time.Now(),
		Hosts: []watch.Host{{Name: "client", Heard: time.Date(2026, 11, 26, 12, 0, 4, 0, time.Local)}, {Name: "nas", Heard: time.Now(), Switches: []string{"core1"}}}}
}

func limitedBy(l model.LimiterID, where model.Where, host string) watch.Named {
	return watch.Named{State: watch.Moving, Limiter: l, Where: where, Host: host}
}

// A path is coloured by its share of the ceiling where something holds it back. What is idle, limited by
// its application or not judged is not; what is stale is dim and dated.
func TestGridColoursWhatIsSlowAlone(t *testing.T) {
	const red, yellow, green, dim = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[2m"
	for _, c := range []struct {
		p          watch.Picture
		code, text string
	}{
		{pathIn(limitedBy(model.PathLoss, model.AtPath, ""), 0.2), red, "▲ path-loss at path, 200 Mbit/s, 20%"},
		{pathIn(limitedBy(model.ReceiverWindow, model.AtReceiver, "nas"), 0.6), yellow, "▲ receiver-window at nas, 600 Mbit/s, 60%"},
		{pathIn(limitedBy(model.None, model.Nowhere, ""), 0.99), green, "● at its ceiling, 990 Mbit/s, 99%"},
		{pathIn(limitedBy(model.ApplicationSource, model.AtApplication, "client"), 0.01), "", "▲ application-source at client, 10 Mbit/s, 1%"},
		{pathIn(limitedBy(model.ApplicationSink, model.AtApplication, "nas"), 0.01), "", "▲ application-sink at nas, 10 Mbit/s, 1%"},
		{pathIn(watch.Named{State: watch.CannotTell}, 0.1), "", "? cannot tell, 100 Mbit/s, 10%"},
		{pathIn(watch.Named{State: watch.Idle}, 0), "", "– idle"},
		{pathIn(watch.Named{State: watch.Starting}, 0), "", "◌ starting"},
		{pathIn(watch.Named{State: watch.Stale}, 0.9), dim, "✕ stale, last heard 12:00:04"},
		{pathIn(watch.Named{State: watch.Lost}, 0.9), dim, "✕ lost, last heard 12:00:04"},
	} {
		var b bytes.Buffer
		d := document.Document{Sections: []document.Section{{Blocks: []document.Block{{Rungs: []document.Rung{tile(c.p)}}}}}}
		if err := d.Text(&b, true, 100); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, c.text) || c.code != "" && !strings.Contains(got, c.code) || c.code == "" && strings.Contains(got, "\x1b") {
			t.Errorf("%q, want %q in %q", got, c.text, c.code)
		}
	}
}

func TestGridShowsFirstWhatIsWrong(t *testing.T) {
	var all []watch.Picture
	for i := range 1000 {
		p := pathIn(limitedBy(model.None, model.Nowhere, ""), 0.95)
		switch p.Path = fmt.Sprintf("client%d – nas", i); i {
		case 600:
			p.Shown = watch.Named{State: watch.CannotTell}
		case 700:
			p.Shown = limitedBy(model.PathLoss, model.AtPath, "")
		case 800:
			p.Shown = watch.Named{State: watch.Lost}
		}
		all = append(all, p)
	}
	s := gridSection(all)
	if s.Blocks[0].Text != "1000 paths, 1 held back, 1 cannot tell, 1 stale or lost" {
		t.Error(s.Blocks[0].Text)
	}
	r := s.Blocks[1].Rungs
	if len(r) != mostTiles || r[0].Name != "client800 – nas" || r[1].Name != "client700 – nas" || r[2].Name != "client600 – nas" || r[3].Name != "client0 – nas" {
		t.Errorf("%+v", r)
	}
	if s.Blocks[2].Note != "and 980 paths more" {
		t.Error(s.Blocks[2].Note)
	}
}

// One path with a long name neither moves the bars of the others nor takes them away.
func TestGridLinesUpWhateverAPathIsCalled(t *testing.T) {
	long := strings.Repeat("long", 30)
	short, other := pathIn(limitedBy(model.PathLoss, model.AtPath, ""), 0.2), pathIn(limitedBy(model.ReceiverWindow, model.AtReceiver, long), 0.6)
	other.Path = long + " – nas"
	d := document.Document{Sections: []document.Section{gridSection([]watch.Picture{short, other})}}
	for _, width := range []int{60, 80, 120} {
		var b bytes.Buffer
		if err := d.Text(&b, false, width); err != nil {
			t.Fatal(err)
		}
		var at []int
		for l := range strings.Lines(b.String()) {
			if before, bar, found := strings.Cut(l, "█"); found {
				at = append(at, len([]rune(before)))
				if n := strings.Count(bar, "█") + strings.Count(bar, "░"); n < 5 {
					t.Errorf("at %d columns a bar has %d", width, 1+n)
				}
			}
			if n := len([]rune(strings.TrimRight(l, "\n"))); n > width {
				t.Errorf("%d columns of %d: %q", n, width, l)
			}
		}
		if len(at) != 2 || at[0] != at[1] || !strings.Contains(strings.Join(strings.Fields(b.String()), " "), "600 Mbit/s, 60%") {
			t.Errorf("at %d columns bars begin at %v:\n%s", width, at, b.String())
		}
	}
}

// The stations of a path are there from where its data come, and the limiter's place is marked.
func TestWayOfAPath(t *testing.T) {
	local, remote := netip.MustParseAddrPort("10.0.0.1:700"), netip.MustParseAddrPort("10.0.0.2:2049")
	sends := watch.Conn{Host: "client", Local: local, Remote: remote, Out: unit.Gbit}
	reads := []watch.Conn{{Host: "client", Local: local, Remote: remote, In: unit.Gbit}, {Host: "nas", Local: remote, Remote: local, Out: unit.Gbit}}
	for _, c := range []struct {
		n     watch.Named
		conns []watch.Conn
		want  string
	}{
		{limitedBy(model.PathLoss, model.AtPath, ""), []watch.Conn{sends}, "client → core1 [▲ path-loss] → nas"},
		{limitedBy(model.ReceiverWindow, model.AtReceiver, "client"), reads, "nas → core1 → client [▲ receiver-window]"},
		{limitedBy(model.ApplicationSource, model.AtApplication, "client"), []watch.Conn{sends}, "client [▲ application-source] → core1 → nas"},
		{limitedBy(model.ServerTime, model.AtServer, "nas"), reads, "storage of nas [▲ server-time] → nas → core1 → client"},
		{limitedBy(model.ServerTime, model.AtServer, "nas"), []watch.Conn{sends}, "client → core1 → nas → storage of nas [▲ server-time]"},
		{watch.Named{State: watch.Idle}, []watch.Conn{sends}, "client → core1 → nas"},
		{watch.Named{State: watch.Unused}, nil, ""},
	} {
		p := pathIn(c.n, 0.5)
		p.Conns = c.conns
		if got := wayText(p); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	alone := pathIn(watch.Named{State: watch.Idle}, 0)
	alone.Hosts, alone.Conns = alone.Hosts[:1], []watch.Conn{sends}
	if got := wayText(alone); got != "client → network → 10.0.0.2:2049" {
		t.Error(got)
	}
}

// Cores have a strip for all that they do and one for each kind of work; of very many a block is some.
func TestCoreStripsShowWhatCoresDo(t *testing.T) {
	cores := []watch.Core{{CPU: 0, User: 0.5}, {CPU: 1, SoftIRQ: 1}, {CPU: 2, System: 0.25, User: 0.01}, {CPU: 3}}
	got := map[string]string{}
	for _, p := range coreStrips(cores) {
		got[p.Name] = p.Value
	}
	if !strings.HasPrefix(got["cores"], "[▄█▂ ] busiest is core 1") || got[" user"] != "[▄   ]" || got[" softirq"] != "[ █  ]" || got[" system"] != "[  ▂ ]" || got[" steal"] != "" {
		t.Errorf("%q", got)
	}
	many := make([]watch.Core, 256)
	many[255].Steal = 1
	p := coreStrips(many)
	if want := "[" + strings.Repeat(" ", 36) + "█]"; p[1].Name != " steal" || p[1].Value != want || !strings.HasSuffix(p[0].Value, "; a block is the busiest of 7 cores") {
		t.Errorf("%q", p)
	}
}

// Whatever hosts are called and however much there is of them, no line is longer than a narrow
// terminal, but for a name that is longer itself: it stands whole, in a line of its own.
func TestAPictureFitsSixtyColumns(t *testing.T) {
	share, frames, waits := 0.5, 12345.678, 12*unit.MiB
	for _, name := range []string{"client", strings.Repeat("long", 75), "\u202eemanesrever", "<script>\x1b[31m"} {
		var all []watch.Picture
		for _, n := range []watch.Named{limitedBy(model.CongestionControl, model.AtSender, name), {State: watch.CannotTell}, {State: watch.Lost}} {
			p := pathIn(n, 0.3)
			p.Path, p.Verdict.Line, p.Since, p.Found, p.FoundTimes = name+" – nas", strings.Repeat("a long sentence ", 20), time.Now().Add(-time.Hour), &watch.Named{State: watch.Idle}, 2
			p.Hosts[0] = watch.Host{Name: name, Stale: true, Cores: make([]watch.Core, 256), Switches: []string{name}, Ops: []watch.Op{{Name: "READ", Rate: 12345, Mean: time.Millisecond, Queue: time.Second}},
				NICs: []watch.NIC{{Name: "enp129s0f1np1", In: 123 * unit.Gbit, Out: 12 * unit.Gbit, Drops: 1e6, Errors: 1e6, Pauses: &frames, QdiscDrops: &frames, Backlog: &waits}}}
			p.Hosts[0].Cores[7] = watch.Core{CPU: 7, User: 0.3, System: 0.3, SoftIRQ: 0.3, Steal: 0.1}
			p.Conns = []watch.Conn{{Host: name, Local: netip.MustParseAddrPort("[2001:db8:1111:2222:3333:4444:5555:6666]:50000"), Remote: netip.MustParseAddrPort("[2001:db8:1111:2222:3333:4444:5555:7777]:2049"), Out: unit.Gbit, RTT: 123 * time.Millisecond,
				Window: &share, Buffer: &share, ByPath: &share, ByApp: &share}}
			all = append(all, p)
		}
		var b bytes.Buffer
		if err := watchPage(all, nil, []string{strings.Repeat("changed ", 20)}).Text(&b, false, 60); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%q steers the terminal", name)
		}
		for l := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimRight(l, "\n"))); n > 60 && len(strings.Fields(l)) > 1 {
				t.Errorf("%d columns: %q", n, l)
			}
		}
	}
}
