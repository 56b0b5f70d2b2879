package systems

import (
	"os"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
)

// What says that things are alike, or that there is none, says so only of what was read whole.
func TestWhatWasNotReadIsNotTakenForAlike(t *testing.T) {
	const none = "errors: No known data errors"
	ix0 := "ix0: flags=8843<UP> metric 0 mtu 1500\n\toptions=e507bb<TSO4,TSO6,LRO>\n"
	for _, c := range []struct {
		name, system, frame, from, to string // one command prints "to" in place of "from"; all, where that is empty
		setting                       string
		want                          model.Fact[string]
		told                          string // "": nothing is
	}{
		{"a pool whose table is cut", "illumos", "pools", none, "", "any.zfs.slog@tank", model.Fact[string]{}, "has no end"},
		{"a pool before another, cut", "illumos", "pools", none, "  pool: b\n" + none, "any.zfs.slog@tank", model.Fact[string]{}, "has no end"},
		{"a data set's line", "illumos", "zfs", "tank\tsync\t", "tank\tsync ", "any.zfs.sync", model.Unknown[string](model.Absent, "a line was not understood, so that data sets may differ"), "not understood"},
		{"a data set's line", "freebsd", "zfs", "tank\tsync\t", "tank\tsync ", "any.zfs.sync", model.Unknown[string](model.Absent, "a line was not understood, so that data sets may differ"), "not understood"},
		{"one of two counters", "illumos", "tcpcount", "tcp:0:tcp:retransSegs", "tcp:0:tcp:other", "", model.Fact[string]{}, "are not both there"},
		{"a card without options", "freebsd", "links", "", ix0 + "igb0: flags=8843<UP> metric 0 mtu 1500", "freebsd.ifconfig.offload", model.Unknown[string](model.Absent, "interfaces differ"), ""},
		{"no card with options", "freebsd", "links", "", "igb0: flags=8843<UP> metric 0 mtu 1500", "freebsd.ifconfig.offload", model.Fact[string]{}, ""},
		{"one card with options", "freebsd", "links", "", ix0 + "lo0: flags=8049<UP,LOOPBACK> metric 0 mtu 16384", "freebsd.ifconfig.offload", model.Known("lro=on,tso4=on,tso6=on"), ""},
		{"a protocol without a state", "windows", "bindings", `"ComponentID":"ms_server","Enabled":true`, `"ComponentID":"ms_server"`, "windows.binding.protocols@SAN1", model.Unknown[string](model.Absent, "of one protocol it was not given whether it is on"), ""},
		{"who decides is not shown", "windows", "tcp", `"AutoTuningLevelEffective":0,`, "", "windows.tcp.autotuning@Internet", model.Unknown[string](model.Absent, "it was not given whether a group policy decides on it"), ""},
	} {
		t.Run(c.system+"/"+c.name, func(t *testing.T) {
			answer, err := os.ReadFile("testdata/" + c.system + "-fake.frames")
			if err != nil {
				t.Fatal(err)
			}
			_, text, _ := strings.Cut(string(answer), "\nbegin "+c.frame+" 0 ")
			_, text, _ = strings.Cut(text, "\n")
			text, _, _ = strings.Cut(text, "\nbegin ")
			text, _, _ = strings.Cut(text, "\nlinerate-frames end")
			if c.from != "" && !strings.Contains(text, c.from) {
				t.Fatalf("no %q in %q", c.from, text)
			}
			if c.from == "" {
				text = c.to
			} else {
				text = strings.ReplaceAll(text, c.from, c.to)
			}
			f := readAs(t, c.system, printing(answer, c.frame, 0, text))
			if got := f.Settings[c.setting]; got != c.want {
				t.Errorf("%s is %v, want %v", c.setting, got, c.want)
			}
			told := c.told == "" || slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return strings.Contains(b.How, c.told) })
			if !told || c.frame == "tcpcount" && f.NetCounters.State == model.Present {
				t.Errorf("counters %v; not seen %+v", f.NetCounters, f.CouldNotSee)
			}
		})
	}
}
