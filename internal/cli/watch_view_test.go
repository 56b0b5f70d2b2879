package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/app/runs"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/report/document"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// played shows a path for so many seconds in each of some states.
func played(trail *past.Trail, from time.Time, each int, marks []watch.Mark, shown ...watch.Named) {
	ceiling := unit.Gbit
	at := from
	for i, n := range shown {
		for s := range each {
			p := watch.Picture{At: at, Path: "a – b", Shown: n, Ceiling: &ceiling, Goodput: unit.BitRate(i) * 300 * unit.Mbit, Hosts: []watch.Host{{Name: "a"}}}
			if i == 1 && s == 0 {
				p.Hosts[0].Marks = marks
			}
			trail.Add([]watch.Picture{p})
			at = at.Add(time.Second)
		}
	}
}

func TestTimelineInATerminal(t *testing.T) {
	from := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	loss := watch.Named{State: watch.Moving, Limiter: model.PathLoss, Where: model.AtPath}
	window := watch.Named{State: watch.Moving, Limiter: model.ReceiverWindow, Where: model.AtReceiver, Host: "b"}
	full := watch.Named{State: watch.Moving, Limiter: model.None}
	var trail past.Trail
	mark := watch.Mark{At: from.Add(6 * time.Second), Kind: watch.MarkTuned, Host: "a", What: "linux.sysctl.net.ipv4.tcp_rmem", From: "1", To: "2"}
	played(&trail, from, 5, []watch.Mark{mark}, watch.Named{State: watch.Idle}, loss, window, full, watch.Named{State: watch.CannotTell}, watch.Named{State: watch.Lost})
	var b bytes.Buffer
	d := document.Document{Sections: []document.Section{{Blocks: timelineBlocks(trail.Strip("a – b", 60))}}}
	if err := d.Text(&b, false, 72); err != nil {
		t.Fatal(err)
	}
	// A picture stands for the second before it, so that a state begins a column early. Of what is
	// lost nothing is known; 1.2 Gbit/s are more than the ceiling of 1.
	want := "  changed        ▼\n" +
		"  carried  ▁▁▁▁▃▃▃▃▃▅▅▅▅▅▇▇▇▇▇█████\n" +
		"  shown    ····AAAAABBBBB=====?????××××\n"
	if got := b.String(); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, text := range []string{"12:00:00 to 12:00:28, 1s a column, full height is 1.2 Gbit/s.", "· is idle (4s)", "A is path-loss at path (5s)", "B is receiver-window at b (5s)", "= is at its ceiling (5s)", "? is cannot tell (5s)", "× is lost (4s)"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), text) {
			t.Errorf("not said: %s\n%s", text, b.String())
		}
	}
	trail = past.Trail{}
	played(&trail, from, 5, nil, watch.Named{State: watch.Lost})
	b.Reset()
	d.Sections[0].Blocks = timelineBlocks(trail.Strip("a – b", 60))
	if err := d.Text(&b, false, 72); err != nil || !strings.Contains(b.String(), "a column. × is lost") {
		t.Errorf("%v: of what nothing is known: %s", err, b.String())
	}
	if timelineBlocks(past.Strip{}) != nil {
		t.Error("a timeline of nothing")
	}
}

// Many limiters, a scale of zero, days: nothing runs out of its columns.
func TestTimelineFitsWhateverComes(t *testing.T) {
	from := time.Date(2026, 11, 26, 23, 59, 50, 0, time.Local)
	var shown []watch.Named
	for _, l := range model.Limiters() {
		shown = append(shown, watch.Named{State: watch.Moving, Limiter: l.ID, Host: "a host with quite a long name"})
	}
	for _, width := range []int{40, 60, 160} {
		var trail past.Trail
		played(&trail, from, 7, nil, shown...)
		var b bytes.Buffer
		d := document.Document{Sections: []document.Section{{Blocks: timelineBlocks(trail.Strip("a – b", min(width, 120)-stripMargin))}}}
		if err := d.Text(&b, false, width); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimRight(l, "\n"))); n > width {
				t.Errorf("%d columns of %d: %q", n, width, l)
			}
		}
		if !strings.Contains(b.String(), "2026-11-27 00:0") {
			t.Errorf("the days are not told apart: %s", b.String())
		}
	}
	if strip, most, _ := carriedStrip(past.Strip{Columns: []*past.Row{{Goodput: new(unit.BitRate)}, {}}}); strip != "▁ " || most != 0 {
		t.Errorf("%q %v", strip, most)
	}
}

// A log says what changed on hosts too, once for a host of several paths.
func TestALogSaysWhatChangedOnHosts(t *testing.T) {
	var out bytes.Buffer
	env := &environment{Env: app.Env{Now: time.Now}, out: document.NewScreen(&out), width: 100}
	v := newView(env, false, true)
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	h := watch.Host{Name: "nas1", Marks: []watch.Mark{{At: at, Kind: watch.MarkHost, Host: "nas1", What: "eth0 speed", From: "10 Gbit/s", To: "1 Gbit/s"}, {At: at, Kind: watch.MarkUndone, Host: "nas1", What: "x", To: "1"}}}
	e := watch.Event{At: at, Path: "a – nas1", To: watch.Named{State: watch.Idle}}
	if err := v.show([]watch.Picture{{At: at, Path: "a – nas1", Hosts: []watch.Host{h}, Events: []watch.Event{e}}, {At: at, Path: "b – nas1", Hosts: []watch.Host{h}}}); err != nil {
		t.Fatal(err)
	}
	want := "12:00:00 a – nas1: idle\n12:00:00 nas1: eth0 speed: 10 Gbit/s → 1 Gbit/s\n12:00:00 nas1: x: – → 1 (taken back by linerate)\n"
	if out.String() != want {
		t.Errorf("%q\nwant %q", out.String(), want)
	}
}

// One picture waits for a while for hosts whose samples are late, and then is no success.
func TestOnePictureIsNotAnOldOne(t *testing.T) {
	moving, stale, lost := pathIn(watch.Named{State: watch.Idle}, 0), pathIn(watch.Named{State: watch.Stale}, 0), pathIn(watch.Named{State: watch.Lost}, 0)
	stale.Path, stale.Why, lost.Path = "client – nas2", "nas2 sent its last sample 9s ago", "nas3"
	starting := pathIn(watch.Named{State: watch.Starting}, 0)
	begun := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name string
		live bool
		each [][]watch.Picture // a second apart
		ends int
		says string
	}{
		{"all there", true, [][]watch.Picture{{starting}, {moving}}, 1, errSeen.Error()},
		{"late, and then there", true, [][]watch.Picture{{moving, stale}, {moving, stale}, {moving, moving}}, 2, errSeen.Error()},
		{"late for good", true, slices.Repeat([][]watch.Picture{{moving, stale}}, 20), 15, "client – nas2 is stale: nas2 sent its last sample 9s ago"},
		{"lost", true, slices.Repeat([][]watch.Picture{{lost}}, 20), 15, "nas3 is lost"},
		{"a recorded one", false, [][]watch.Picture{{stale}}, 0, "is stale"},
	} {
		var out bytes.Buffer
		env := &environment{Env: app.Env{Getenv: func(string) string { return t.TempDir() }, Now: func() time.Time { return begun }}, out: document.NewScreen(&out), width: 80}
		v := newView(env, true, c.live)
		for n, all := range c.each {
			for i := range all {
				all[i].At = begun.Add(time.Duration(n) * time.Second)
			}
			err := v.show(all)
			if n < c.ends && err == nil {
				continue
			}
			if n != c.ends || err == nil || !strings.Contains(err.Error(), c.says) || out.Len() == 0 {
				t.Errorf("%s: after %d s %v, with %d bytes", c.name, n, err, out.Len())
			}
			break
		}
	}
}

// Runs that are kept while a path is watched are marked in its timeline, and what was measured of its
// rungs stands beneath it; why they are not known is said.
func TestViewShowsKeptRuns(t *testing.T) {
	data := t.TempDir()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	env := &environment{Env: app.Env{Now: func() time.Time { return now }, Getenv: func(k string) string {
		return map[string]string{"XDG_DATA_HOME": data}[k]
	}}, out: document.NewScreen(&bytes.Buffer{})}
	v := newView(env, false, true)
	step := func() beneath {
		now = now.Add(time.Second)
		some := []watch.Picture{{At: now, Path: "a – b"}}
		v.follow(some)
		return v.beneath(some, 80)["a – b"]
	}
	for range 5 {
		step()
	}
	if b := step(); v.unread != nil || len(v.listed()) > 0 || b.ladder.Run != "" || !strings.Contains(b.ladder.Why, "linerate explain a b --load") {
		t.Errorf("%+v %v", b.ladder, v.unread)
	}
	v.fresh = []runs.Summary{{ID: "20261126-115958-load-abcd", State: runs.Complete, Created: now.Add(-2 * time.Second), Command: "load tcp a b"}, {Created: now.Add(-time.Hour)}}
	v.looked = now
	if b := step(); len(b.lately.Marks) != 1 || !strings.Contains(fmt.Sprint(v.listed()), "ran linerate load tcp a b (linerate report 20261126-115958-load-abcd)") {
		t.Errorf("%+v %v", b.lately.Marks, v.listed())
	}
	if err := os.MkdirAll(filepath.Join(data, "linerate"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "linerate", "runs"), nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	now = now.Add(ranEvery)
	if b := step(); v.unread == nil || b.ladder.Run+b.ladder.Why != "" || !strings.Contains(fmt.Sprint(v.listed()), "kept runs are not shown: ") {
		t.Errorf("%v %v", v.unread, v.listed())
	}
}

func TestLadderBeneathAPath(t *testing.T) {
	ceiling, measured := unit.Gbit, 400*unit.Mbit
	c := runs.Climbed{Run: "20261126-1", At: time.Date(2026, 11, 25, 10, 2, 0, 0, time.Local), Command: "explain a b --load", Ceiling: &ceiling, Rungs: []model.Rung{
		{Rung: "memory", How: "copy"}, {Rung: "one TCP stream", Seen: true, Measured: &measured, Ceiling: &ceiling, Method: "TCP for 3 s"}}}
	var b bytes.Buffer
	if err := (document.Document{Sections: []document.Section{{Blocks: ladderBlocks(c)}}}).Text(&b, false, 100); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"measured 2026-11-25 10:02 by linerate explain a b --load (linerate report 20261126-1)", "400 Mbit/s of 1 Gbit/s, 40%", "not measured: memory"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), text) {
			t.Errorf("not said: %s\n%s", text, b.String())
		}
	}
}

// Of hosts without any connection one picture ends, and a log says so, once.
func TestViewWithoutAPath(t *testing.T) {
	for _, once := range []bool{true, false} {
		var out bytes.Buffer
		now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
		env := &environment{Env: app.Env{Now: func() time.Time { return now }, Getenv: func(string) string { return t.TempDir() }}, out: document.NewScreen(&out), width: 120}
		v := newView(env, once, true)
		for s := range 30 {
			now = now.Add(time.Second)
			err := v.show(nil)
			if want := once && s == 5; (err != nil) != want || want && failure.KindOf(err) != failure.Nothing {
				t.Fatalf("once %v, after %d s: %v", once, s, err)
			} else if want {
				break
			}
		}
		if got := strings.Count(out.String(), noPath); got != map[bool]int{false: 1}[once] {
			t.Errorf("once %v: %q", once, out.String())
		}
	}
}
