package file

import (
	"strings"
	"testing"
)

const ranged = `v: 1
name: x
hosts: {a: lab:a, b: lab:b}
factors:
  - name: buffer
    range: RANGE
workloads:
  - {name: bulk, kind: tcp, senders: [b], receivers: [a], streams: 1, seconds: 5}
protocol: {design: search}
`

func TestRange(t *testing.T) {
	for _, c := range []struct{ text, names, last string }{
		{`{from: 1m, to: 64m, points: 7, set: {a: {linux.sysctl.net.ipv4.tcp_rmem: 4096 131072 VALUE}}}`, "1MiB 2MiB 4MiB 8MiB 16MiB 32MiB 64MiB", "4096 131072 67108864"},
		{`{from: 64m, to: 4m, points: 3, set: {a: {linux.sysctl.net.ipv4.tcp_rmem: 4096 131072 VALUE}}}`, "64MiB 16MiB 4MiB", "4096 131072 4194304"},
		{`{from: 1, to: 4, points: 4, spacing: linear, workload: {streams: VALUE}}`, "1 2 3 4", "4"},
		{`{from: 1, to: 16, workload: {streams: VALUE}}`, "1 2 4 8 16", "16"},
		{`{from: 1, to: 3, points: 9, workload: {streams: VALUE}}`, "1 2 3", "3"}, // whole numbers, once each
		{`{from: 64k, to: 1m, points: 2, workload: {recv_buffer: VALUE}}`, "64KiB 1MiB", "1048576"},
	} {
		f, err := Parse("f", []byte(strings.Replace(ranged, "RANGE", c.text, 1)))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var names []string
		last := ""
		for _, l := range f.Factors[0].Levels {
			names = append(names, l.Name)
			for _, v := range l.Workload {
				last = v
			}
			for _, s := range l.Set {
				last = s.Value
			}
		}
		if got := strings.Join(names, " "); got != c.names || last != c.last {
			t.Errorf("%s: %s, last %s", c.text, got, last)
		}
	}
}

func TestRangeRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{from: 1, to: 1, workload: {streams: VALUE}}`:                                "two different numbers",
		`{from: 0, to: 8, workload: {streams: VALUE}}`:                                "at least 1",
		`{from: x, to: 8, workload: {streams: VALUE}}`:                                "whole number, or a size",
		`{from: 1, to: 8, workload: {streams: 4}}`:                                    "nothing says VALUE",
		`{from: 1, to: 8}`:                                                            "exactly one of set",
		`{from: 1, to: 8, points: 40, workload: {streams: VALUE}}`:                    "points",
		`{from: 1, to: 8, spacing: wide, workload: {streams: VALUE}}`:                 "want one of log, linear",
		`{from: 1, to: 900, workload: {streams: VALUE}}`:                              "streams",
		`{from: 1, to: 8, workload: {streams: VALUE}, set: {a: {linux.link.mtu: 1}}}`: "exactly one of set",
	} {
		_, err := Parse("f", []byte(strings.Replace(ranged, "RANGE", text, 1)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		strings.Replace(ranged, "range: RANGE", "hard: true\n    range: {from: 1, to: 8, workload: {streams: VALUE}}", 1):                                            "costly",
		strings.Replace(ranged, "range: RANGE", "range: {from: 1, to: 8, workload: {streams: VALUE}}\n    levels: [{name: x, workload: {streams: 2}}]", 1):           "levels or a range",
		strings.Replace(strings.Replace(ranged, "RANGE", "{from: 1, to: 8, workload: {streams: VALUE}}", 1), "{design: search}", "{name: paper, design: search}", 1): "needs protocol linerate",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
