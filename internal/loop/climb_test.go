package loop

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/explain"
	"linerate/internal/lab/labtest"
	"linerate/internal/load"
	"linerate/internal/model"
	"linerate/internal/unit"
)

func shortRungs() RungTime {
	const ms = time.Millisecond
	return RungTime{Copy: ms, Loopback: ms, Trickle: ms, Streams: ms, Read: ms, Quiet: ms, Passive: ms}
}

// climbing is a climb over fake hosts, and what it says.
func climbing(w *world, e *Export) (*Climb, *[]string) {
	said := &[]string{}
	l := newLoop(w)
	l.Now, l.Prove = time.Now, false
	l.Progress = func(s string) { *said = append(*said, s) }
	return &Climb{Loop: *l, Export: e, Rungs: shortRungs()}, said
}

func rungNamed(t *testing.T, r model.Results, name string) model.Rung {
	t.Helper()
	i := slices.IndexFunc(r.Ladder, func(r model.Rung) bool { return r.Rung == name })
	if i < 0 {
		t.Fatalf("no rung %q in %+v", name, r.Ladder)
	}
	return r.Ladder[i]
}

var nfsMount = model.Mount{Source: "server1:/export", Point: "/mnt/nas", Type: "nfs4", Options: map[string]string{"addr": sendAddr.String(), "rsize": "1048576"}}

func TestClimbMeasuresEveryRung(t *testing.T) {
	w := &world{value: original, mounts: []model.Mount{nfsMount}}
	c, said := climbing(w, &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas"})
	rec, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if len(r.Ladder) != 9 || r.Verdict.Limiter == "" || r.Verdict.Line == "" {
		t.Fatalf("verdict %+v, ladder %+v", r.Verdict, r.Ladder)
	}
	for _, rung := range r.Ladder {
		switch rung.Rung {
		case explain.RungRAM:
			if rung.Seen || !strings.Contains(rung.How, "no tmpfs") {
				t.Errorf("%+v", rung)
			}
			continue
		case explain.RungMemory, explain.RungDisk:
		default:
			if rung.Predicted == nil || rung.PredictedFrom == "" {
				t.Errorf("%s: nothing was predicted", rung.Rung)
			}
		}
		if !rung.Seen || rung.Measured == nil || rung.Method == "" || rung.How != "" {
			t.Errorf("%+v", rung)
		}
	}
	// The receive buffer of 256 KiB at 10 ms is known before the stream runs: 1448 of 2304 bytes of it are window.
	one := rungNamed(t, r, explain.RungStream)
	if got := float64(*one.Predicted); got < 131e6 || got > 133e6 || !strings.Contains(one.PredictedFrom, "tcp_rmem of server1 256 KiB") {
		t.Errorf("predicted %v: %s", *one.Predicted, one.PredictedFrom)
	}
	whole := rungNamed(t, r, explain.RungWhole)
	if !strings.Contains(whole.Method, "/mnt/nas/films/large on server1") || !strings.Contains(whole.Method, "read dropped") {
		t.Errorf("whole path by %s", whole.Method)
	}
	if disk := rungNamed(t, r, explain.RungDisk); !strings.Contains(disk.Method, "/export/films/large on client1") || !strings.Contains(disk.Method, "read direct") {
		t.Errorf("server disk by %s", disk.Method)
	}
	inOrder(t, *said, "one TCP stream: the model predicts 132 Mbit/s", "load: one TCP stream at full speed")
	inOrder(t, *said, "whole path: the model predicts", "load: server1 reads /mnt/nas/films/large")
	if len(r.Clocks) != 2 || r.Clocks["client1"].Drift == nil {
		t.Errorf("clocks %+v", r.Clocks)
	}
	if !slices.ContainsFunc(r.Verdict.Notes, func(n string) bool { return strings.Contains(n, "ppm") }) {
		t.Errorf("no note on the clocks: %q", r.Verdict.Notes)
	}
}

// Losses that go when the sender paces itself are not the path's.
func TestClimbRunsTheProbeThatTells(t *testing.T) {
	c, said := climbing(&world{value: original, lossy: true}, nil)
	rec, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if r.Verdict.Limiter != model.PathQueue || r.Verdict.Confidence < 0.7 {
		t.Errorf("%.2f %s", r.Verdict.Confidence, r.Verdict.Line)
	}
	inOrder(t, *said, "load: telling", "N TCP streams: the model predicts")
}

// inOrder: something with the first text was said before the second.
func inOrder(t *testing.T, said []string, first, second string) {
	t.Helper()
	at := func(s string) int {
		return slices.IndexFunc(said, func(line string) bool { return strings.Contains(line, s) })
	}
	if a, b := at(first), at(second); a < 0 || b < 0 || a > b {
		t.Errorf("%q (%d) is not said before %q (%d) in\n%s", first, a, second, b, strings.Join(said, "\n"))
	}
}

// Others use the link: nothing at full speed is sent, and what moves is judged.
func TestClimbStopsForOthers(t *testing.T) {
	w := &world{value: original, busy: nicLoad{foreignIn: 300 * unit.Mbit, foreignOut: 120 * unit.Mbit}, mounts: []model.Mount{nfsMount}}
	c, said := climbing(w, &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas"})
	rec, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	for _, name := range []string{explain.RungStream, explain.RungStreams, explain.RungReverse, explain.RungDisk, explain.RungCached} {
		if rung := rungNamed(t, r, name); rung.Seen || !rung.Tried || !strings.Contains(rung.How, "of other traffic on eth0") {
			t.Errorf("%+v", rung)
		}
	}
	for _, s := range *said {
		if strings.Contains(s, "full speed") || strings.Contains(s, "reads") {
			t.Errorf("it went on: %s", s)
		}
	}
	if !slices.ContainsFunc(r.Warnings, func(w model.Warning) bool { return w.ID == "load-stopped" }) {
		t.Errorf("no warning: %+v", r.Warnings)
	}
	if !rungNamed(t, r, explain.RungMemory).Seen || !rungNamed(t, r, explain.RungWhole).Seen {
		t.Errorf("memory or the watched path is not seen: %+v", r.Ladder)
	}
}

// A rung that cannot be measured says so; the others are.
func TestClimbGoesOnPastARungThatFails(t *testing.T) {
	w := &world{value: original, mounts: []model.Mount{nfsMount}, noRead: load.Read}
	c, _ := climbing(w, &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas", File: "x"})
	rec, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{explain.RungDisk, explain.RungCached, explain.RungWhole} {
		if rung := rungNamed(t, rec.Results, name); rung.Seen || !rung.Tried || !strings.Contains(rung.How, errFake.Error()) {
			t.Errorf("%+v", rung)
		}
	}
	if !rungNamed(t, rec.Results, explain.RungReverse).Seen {
		t.Error("the network's rungs are not seen")
	}
}

// Every call to either host fails once, and once is the moment of a Ctrl-C:
// there is a verdict or an error that says why not, and always a record.
func TestEveryStepOfAClimbMayFail(t *testing.T) {
	t.Parallel()
	e := &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas"}
	count := &world{value: original}
	c, _ := climbing(count, e)
	if _, err := c.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= count.calls; i += labtest.Every(6) {
		c, _ := climbing(&world{value: original, failAt: i}, e)
		rec, err := c.Run(t.Context())
		if rec == nil || err == nil && (rec.Results.Verdict.Line == "" || len(rec.Results.Ladder) != 9) {
			t.Errorf("call %d of %d failed: neither a verdict nor an error", i, count.calls)
		}
		if err != nil && !errors.Is(err, errFake) {
			t.Errorf("call %d failed and Run returned %v", i, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c, _ = climbing(&world{value: original, failAt: i, cancel: cancel}, e)
		rec, err = c.Run(ctx)
		cancel()
		if rec == nil || err == nil && rec.Results.Verdict.Line == "" {
			t.Errorf("interrupted at call %d of %d: neither a verdict nor an error", i, count.calls)
		}
	}
}
