package loop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/unit"
)

func newLoop(w *world) *Loop {
	clock := time.Unix(0, 0)
	return &Loop{
		Sender:   End{Name: "client1", Addr: sendAddr, Agent: &fakeAgent{w: w, name: "client1", sender: true}},
		Receiver: End{Name: "server1", Addr: recvAddr, Agent: &fakeAgent{w: w, name: "server1", sender: false}},
		Workload: model.Workload{Streams: 1, CC: "cubic"}, LineRate: model.Known(unit.Gbit),
		Timing: Timing{Diagnosis: 5500 * time.Millisecond, DiagnosisWarmup: time.Second, Pair: time.Second, Pairs: 8, AAPairs: 4},
		Prove:  true, Seed: 7,
		Now: func() time.Time { clock = clock.Add(time.Millisecond); return clock },
	}
}

func TestTheLoopCuresAWindowProvesItAndPutsItBack(t *testing.T) {
	w := &world{value: original}
	rec, err := newLoop(w).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if r.Verdict.Limiter != model.ReceiverWindow || r.Verdict.Fix.Setting != rmem || r.Verdict.Fix.Host != "server1" {
		t.Fatalf("verdict %s, fix %+v", r.Verdict.Limiter, r.Verdict.Fix)
	}
	if r.Proof == nil || r.Proof.Effect != "gain" || r.Proof.Pairs != 8 || *r.Proof.CILow < 5 || r.Proof.By != "linerate" {
		t.Errorf("proof %+v", r.Proof)
	}
	if !r.Restored || w.value != original {
		t.Errorf("restored %v, tcp_rmem is %q", r.Restored, w.value)
	}
	if want := 1 + 2*4 + 2*8; len(r.Runs) != want {
		t.Errorf("%d runs are kept, want all %d", len(r.Runs), want)
	}
}

// Losses that go when the sender paces itself are not the path's.
func TestTheLoopRunsTheProbeThatTells(t *testing.T) {
	w := &world{value: original, lossy: true}
	l := newLoop(w)
	l.Prove = false
	rec, err := l.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if len(r.Runs) != 2 || r.Runs[1].Label != "paced probe" || r.Runs[1].Workload.MaxPacing == 0 {
		t.Fatalf("no probe was run: %s", r.Verdict.Line)
	}
	if r.Verdict.Limiter != model.PathQueue || r.Verdict.Confidence < 0.7 {
		t.Errorf("%.2f %s", r.Verdict.Confidence, r.Verdict.Line)
	}
	count := &world{value: original, lossy: true}
	l = newLoop(count)
	l.Prove = false
	if _, err := l.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= count.calls; i++ {
		l := newLoop(&world{value: original, lossy: true, failAt: i})
		l.Prove = false
		if _, err := l.Run(context.Background()); !errors.Is(err, errFake) {
			t.Errorf("call %d failed and Run returned %v", i, err)
		}
	}
}

// Behind a window nobody sees what binds next: several connections do, unless a
// proof follows anyway.
func TestTheLoopSeesBehindAWindow(t *testing.T) {
	l := newLoop(&world{value: original})
	l.Prove = false
	rec, err := l.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if len(r.Runs) != 2 || r.Runs[1].Label != severalLabel || r.Runs[1].Workload.Streams < 8 || r.Runs[1].Workload.To != recvAddr {
		t.Fatalf("%d runs: %s", len(r.Runs), r.Verdict.Line)
	}
	if r.Verdict.Limiter != model.ReceiverWindow {
		t.Errorf("the probe changed the verdict: %s", r.Verdict.Line)
	}
}

func TestAChangeWithoutEffectIsSaidToHaveNone(t *testing.T) {
	w := &world{value: original, dumb: true}
	rec, err := newLoop(w).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if p := rec.Results.Proof; p == nil || p.Effect != "no effect" {
		t.Errorf("proof %+v, want no effect", p)
	}
}

// Every call to either host fails once, in turn, and once is the moment of a
// Ctrl-C: the value is always put back.
func TestEveryStepMayFail(t *testing.T) {
	t.Parallel()
	short := func(w *world) *Loop {
		l := newLoop(w)
		l.Timing.AAPairs, l.Timing.Pairs = 1, 2
		return l
	}
	count := &world{value: original}
	if _, err := short(count).Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= count.calls; i += labtest.Every(3) {
		w := &world{value: original, failAt: i}
		rec, err := short(w).Run(context.Background())
		if !errors.Is(err, errFake) {
			t.Errorf("call %d failed and Run returned %v", i, err)
		}
		if w.value != original {
			t.Errorf("call %d failed and tcp_rmem stayed %q", i, w.value)
		}
		if rec == nil {
			t.Errorf("call %d failed and there is no record", i)
		}

		ctx, cancel := context.WithCancel(context.Background())
		w = &world{value: original, failAt: i, cancel: cancel}
		rec, err = short(w).Run(ctx)
		cancel()
		if w.value != original {
			t.Errorf("interrupted at call %d and tcp_rmem stayed %q", i, w.value)
		}
		if err == nil && !rec.Results.Restored {
			t.Errorf("interrupted at call %d: no error and not restored", i)
		}
	}
}

func TestAnUndoThatIsRefusedIsNotCalledRestored(t *testing.T) {
	w := &world{value: original, stuck: true}
	rec, err := newLoop(w).Run(context.Background())
	if err == nil || rec.Results.Restored {
		t.Fatalf("error %v, restored %v; want an error and false", err, rec.Results.Restored)
	}
	if !strings.Contains(err.Error(), "somebody else changed it") || !strings.Contains(err.Error(), "server1") {
		t.Errorf("the error names neither cause nor host: %v", err)
	}
}

func TestAChangeThatIsNotInForceIsSaidToBeSo(t *testing.T) {
	w := &world{value: original, clamps: true}
	rec, err := newLoop(w).Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if p := rec.Results.Proof; p == nil || p.Effect != "not in force" || p.Ratio != nil || len(p.Warnings) != 1 {
		t.Errorf("proof %+v, want not in force and why", p)
	}
	if w.value != original || !rec.Results.Restored {
		t.Errorf("tcp_rmem is %q, restored %v", w.value, rec.Results.Restored)
	}
}

func TestWithoutProofNothingIsChanged(t *testing.T) {
	w := &world{value: original}
	l := newLoop(w)
	l.Prove = false
	rec, err := l.Run(context.Background())
	if err != nil || rec.Results.Proof != nil || len(rec.Results.Changes) != 0 {
		t.Errorf("%v: proof %v, changes %v, runs %d", err, rec.Results.Proof, rec.Results.Changes, len(rec.Results.Runs))
	}
}

func TestDifferencesAreFound(t *testing.T) {
	nic := func(mtu int, tso bool) model.NIC {
		return model.NIC{Name: "eth0", Device: "if:eth0", MTU: mtu, Features: model.Known(map[string]bool{"tx-tcp-segmentation": tso})}
	}
	before := &model.Facts{Settings: map[string]model.Fact[string]{rmem: model.Known("1 2 3")}, NICs: []model.NIC{nic(1500, true)}}
	after := &model.Facts{Settings: map[string]model.Fact[string]{rmem: model.Unknown[string](model.Denied, "")}, NICs: []model.NIC{nic(9000, false)}}
	if got := Differences(before, after); len(got) != 3 {
		t.Errorf("found %q, want three differences", got)
	}
	if got := Differences(before, before); len(got) != 0 {
		t.Errorf("found %q in two equal readings", got)
	}
}
