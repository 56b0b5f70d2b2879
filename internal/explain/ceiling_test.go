package explain

import (
	"math"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func TestCeiling(t *testing.T) {
	edit := func(k knobs, f func(*model.Conn, *model.NIC)) Case {
		c := k.build()
		for _, e := range []*End{c.Sender, c.Receiver} {
			for i := range e.Samples {
				f(&e.Samples[i].Conns[0], &e.Facts.NICs[0])
			}
		}
		return c
	}
	for _, tc := range []struct {
		name string
		c    Case
		want float64 // 0: not known
	}{
		{"1 Gbit/s, MTU 1500, timestamps", knobs{}.build(), 1e9 * 1448 / 1538},
		{"no timestamps", edit(knobs{}, func(c *model.Conn, _ *model.NIC) { c.Options, c.SndMSS = 6, 1460 }), 1e9 * 1460 / 1538},
		{"IPv6", edit(knobs{v6: true}, func(c *model.Conn, _ *model.NIC) { c.SndMSS = 1428 }), 1e9 * 1428 / 1538},
		{"MTU 9000", edit(knobs{}, func(c *model.Conn, n *model.NIC) { c.SndMSS, n.MTU = 8948, 9000 }), 1e9 * 8948 / 9038},
		{"a little smaller segments than the MTU allows", edit(knobs{}, func(c *model.Conn, n *model.NIC) { c.SndMSS = 1348 }), 1e9 * 1348 / 1438},
		{"segments made small", edit(knobs{}, func(c *model.Conn, n *model.NIC) { c.SndMSS = 524 }), 1e9 * 1448 / 1538},
		{"a path of 1500 between hosts of 9000", edit(knobs{}, func(c *model.Conn, n *model.NIC) { n.MTU = 9000 }), 1e9 * 1448 / 1538},
		{"segments alone tell", knobs{noFacts: true}.build(), 1e9 * 1448 / 1538},
		{"the NIC's speed", knobs{line: -1, physical: 10 * unit.Gbit}.build(), 1e10 * 1448 / 1538},
		{"the stated rate beats the NIC's", knobs{physical: 10 * unit.Gbit}.build(), 1e9 * 1448 / 1538},
		{"no rate", knobs{line: -1}.build(), 0},
		{"a rate that is none", Case{LineRate: model.Known(unit.BitRate(-5))}, 0},
		{"a rate and nothing else", Case{LineRate: model.Known(unit.Gbit)}, 0},
	} {
		got := Ceiling(tc.c)
		if got.Formula == "" {
			t.Errorf("%s: no formula", tc.name)
		}
		if tc.want == 0 {
			if got.Rate != nil {
				t.Errorf("%s: %v, want none", tc.name, *got.Rate)
			}
			continue
		}
		if got.Rate == nil || math.Abs(float64(*got.Rate)-tc.want) > 1 {
			t.Errorf("%s: %v, want %.0f (%s)", tc.name, got.Rate, tc.want, got.Formula)
		}
	}
}

func TestCeilingFormula(t *testing.T) {
	got := Ceiling(knobs{}.build()).Formula
	if want := "1 Gbit/s × 1448 / 1538 B (segment of MTU 1500 on Ethernet, stated) = 941 Mbit/s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestLadder(t *testing.T) {
	seen := func(c Case) string {
		var out []string
		for _, r := range Ladder(c, Judge(c)) {
			if r.Formula == "" || (r.How == "") != r.Seen || (r.Measured != nil) != r.Seen {
				t.Errorf("rung %+v", r)
			}
			if r.Seen {
				out = append(out, r.Rung)
			}
		}
		return strings.Join(out, ",")
	}
	passive := knobs{}.build()
	passive.Passive, passive.Receiver = true, nil
	for _, tc := range []struct {
		c    Case
		want string
	}{
		{knobs{}.build(), "one TCP stream"},
		{knobs{streams: 4}.build(), "N TCP streams"},
		{passive, "whole path"},
		{Case{}, ""},
	} {
		if got := seen(tc.c); got != tc.want {
			t.Errorf("seen %q, want %q", got, tc.want)
		}
	}
}

func TestLine(t *testing.T) {
	for fault, want := range map[string]string{
		"none":   "940 of 941 Mbit/s (100%). No limiter: the path is at its ceiling.",
		"window": `130 of 941 Mbit/s (14%). Limiter: receiver-window at server1 (data in flight fills 100% of the advertised window of 166 KiB). Fix: linux.sysctl.net.ipv4.tcp_rmem "4096 131072 262144" → "4096 131072 4194304" on server1; expected 847-941 Mbit/s.`,
		"loss":   "20 of 941 Mbit/s (2%). Limiter: path-loss on the path (0.2% of the bytes are sent again). For the operator: losses come one by one: look for the hop that damages packets (error counters of cables, transceivers and switch ports) or drops them at random; at most 941 Mbit/s.",
	} {
		if got := Judge(faults()[fault].build()).Line; got != want {
			t.Errorf("%s:\n got %s\nwant %s", fault, got, want)
		}
	}
}

// Near the ceiling nothing is named, and what is missing is said to be missing.
func TestNearTheCeiling(t *testing.T) {
	for _, tc := range []struct {
		share float64
		open  bool
	}{{0.99, false}, {0.92, true}} {
		v := Judge(knobs{rate: tc.share * healthy, rtt: 11 * time.Millisecond}.build())
		said := strings.Contains(v.Line+strings.Join(v.Notes, "; "), "not explained")
		if v.Limiter != model.None || said != tc.open || tc.open && v.Confidence > nearCeilingCap {
			t.Errorf("%v: %s %.2f %v %s", tc.share, v.Limiter, v.Confidence, v.Notes, v.Line)
		}
	}
}
