package loop

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/study"
)

const cured = "4096 131072 4194304"

func newFix(w *world) *Fix { return &Fix{Loop: *newLoop(w), Budget: time.Hour} }

func TestFixKeepsWhatEarnedItAndEnds(t *testing.T) {
	w := &world{value: original}
	var asked []model.LimiterID
	f := newFix(w)
	f.Receiver.Name = "lab:server1" // as it was reached; its own name is another
	f.Ask = func(v model.Verdict) (bool, error) { asked = append(asked, v.Limiter); return true, nil }
	rec, err := f.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if len(r.Steps) != 1 || !r.Steps[0].Kept || r.Steps[0].Proof == nil || r.Steps[0].Proof.Effect != study.Gain || r.Steps[0].Change.Setting != rmem {
		t.Fatalf("steps %+v", r.Steps)
	}
	if !strings.HasPrefix(r.Ended, "nothing holds the path back") || r.Verdict.Limiter != model.None || !r.Restored {
		t.Errorf("ended %q with %s, restored %v", r.Ended, r.Verdict.Limiter, r.Restored)
	}
	if w.value != cured || w.before != original || w.confirmed != r.Steps[0].Plan {
		t.Errorf("tcp_rmem is %q, undo would make it %q, confirmed %q and kept %q", w.value, w.before, w.confirmed, r.Steps[0].Plan)
	}
	if !slices.Equal(asked, []model.LimiterID{model.ReceiverWindow}) {
		t.Errorf("asked of %v", asked)
	}
}

// Of a mount the same, by reading over it.
func TestFixOfAMount(t *testing.T) {
	w := &world{value: original, mounts: []model.Mount{nfsMount}}
	f := newFix(w)
	f.Export, f.Rungs = &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas", File: "film"}, shortRungs()
	f.Now = time.Now
	rec, err := f.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if len(r.Steps) == 0 || !r.Steps[0].Kept || r.Steps[0].Proof.Effect != study.Gain || r.Steps[0].Change.Setting != rmem || w.value != cured {
		t.Fatalf("ended %q after %+v", r.Ended, r.Steps)
	}
	pairs := 0
	for _, run := range r.Runs {
		if strings.Contains(run.Label, "pair") {
			if pairs++; run.Workload.From != sendAddr { // a window that has grown stays with the mount's connection
				t.Errorf("%s was not made by a connection of its own", run.Label)
			}
		}
	}
	if pairs != 16 {
		t.Errorf("%d runs of pairs are kept, want 16", pairs)
	}
	if !f.olderThan(r.Steps[0].Verdict) || f.olderThan(model.Verdict{Limiter: model.PathLoss}) {
		t.Error("whether the mount's connection is older than what was kept is not seen")
	}
	for setting, mount := range map[string]bool{rmem: false, "linux.bdi.nfs_readahead": true, "linux.nfsd.threads": true, "linux.link.mtu": false} {
		if f.proveBy(setting); (f.over != nil) != mount {
			t.Errorf("%s is proved over the mount: %v", setting, f.over != nil)
		}
	}
	if !slices.ContainsFunc(r.Ladder, func(x model.Rung) bool { return x.Rung == "whole path" && x.Seen }) {
		t.Errorf("no ladder of the mount: %+v", r.Ladder)
	}
}

// Calls to either host fail: what was not kept is put back.
func TestFixOfAMountMayFailAnywhere(t *testing.T) {
	t.Parallel()
	run := func(w *world) error {
		f := newFix(w)
		f.Rungs, f.Now = shortRungs(), time.Now
		f.Export, f.Timing.AAPairs, f.Timing.Looks = &Export{Path: "/export", Mount: nfsMount, Dir: "/mnt/nas", File: "film"}, 1, []int{2}
		_, err := f.Run(t.Context())
		return err
	}
	count := &world{value: original, mounts: []model.Mount{nfsMount}}
	if err := run(count); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= count.calls; i += 7 * labtest.Every(5) { // some hundred calls, each of a whole climb
		w := &world{value: original, mounts: []model.Mount{nfsMount}, failAt: i}
		if err := run(w); err != nil && w.value != original && w.confirmed == "" {
			t.Errorf("call %d failed (%v) and tcp_rmem stayed %q", i, err, w.value)
		}
	}
}

// What brings nothing is put back, and named again it ends the climb.
func TestFixPutsBackWhatBroughtNothing(t *testing.T) {
	w := &world{value: original, dumb: true}
	rec, err := newFix(w).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := rec.Results
	if len(r.Steps) != 2 || r.Steps[0].Kept || r.Steps[0].Why != "put back: it brings no more than 2%" || r.Steps[1].Change != nil || !strings.Contains(r.Ended, "was tried and is named again") {
		t.Errorf("ended %q after %+v", r.Ended, r.Steps)
	}
	if w.value != original || w.before != "" {
		t.Errorf("tcp_rmem is %q", w.value)
	}
}

// What the first look cannot tell the later ones do, as far as the budget goes; what
// none tells is put back.
func TestFixLooksAgain(t *testing.T) {
	for _, c := range []struct {
		budget time.Duration
		pairs  int
		kept   bool
	}{{time.Hour, 12, true}, {42 * time.Second, 8, false}} {
		// One pair of the first eight goes the other way: no look at eight can show an effect.
		w := &world{value: original, gain: func(n int) float64 {
			if n == 2 {
				return 0.5
			}
			return 1.5
		}}
		f := newFix(w)
		f.Budget = c.budget
		rec, err := f.Run(t.Context())
		if err != nil || len(rec.Results.Steps) == 0 || rec.Results.Steps[0].Proof == nil {
			t.Fatalf("%v, ended %q", err, rec.Results.Ended)
		}
		s := rec.Results.Steps[0]
		if s.Kept != c.kept || s.Proof.Pairs != c.pairs {
			t.Errorf("budget %v: %d pairs of %v, kept %v: %s", c.budget, s.Proof.Pairs, s.Proof.Looks, s.Kept, s.Why)
		}
	}
}

func TestFixTouchesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*Fix)
		want string
	}{
		"declined":  {func(f *Fix) { f.Ask = func(model.Verdict) (bool, error) { return false, nil } }, "you declined"},
		"no budget": {func(f *Fix) { f.Budget = time.Second }, "the budget of 1s does not hold another proof"},
	} {
		w := &world{value: original}
		f := newFix(w)
		tc.edit(f)
		rec, err := f.Run(t.Context())
		if err != nil || !strings.Contains(rec.Results.Ended, tc.want) || len(rec.Results.Steps) != 1 || rec.Results.Steps[0].Kept {
			t.Errorf("%s: %v, ended %q", name, err, rec.Results.Ended)
		}
		if w.value != original || len(rec.Results.Changes) > 0 {
			t.Errorf("%s: tcp_rmem is %q", name, w.value)
		}
	}
}

// Whatever fails, what is not kept is put back.
func TestEveryStepOfAFixMayFail(t *testing.T) {
	t.Parallel()
	short := func(w *world) *Fix {
		f := newFix(w)
		f.Timing.AAPairs, f.Timing.Looks = 0, []int{6}
		return f
	}
	whole := &world{value: original}
	if _, err := short(whole).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	const ends = 10 // the runs between are alike
	for at := 1; at <= whole.calls; at++ {
		if at > ends && at < whole.calls-2*ends && at%29 != 0 {
			continue
		}
		w := &world{value: original, failAt: at}
		rec, err := short(w).Run(t.Context())
		kept := slices.ContainsFunc(rec.Results.Steps, func(s model.FixStep) bool { return s.Kept })
		if kept != (w.value == cured) || !kept && w.value != original {
			t.Errorf("call %d of %d failed (%v): kept %v, tcp_rmem is %q", at, whole.calls, err, kept, w.value)
		}
	}
}

// Beside a change that was kept later, the first is taken out where the path does
// without it.
func TestFixTakesOutWhatIsNotNeeded(t *testing.T) {
	for _, needed := range []bool{true, false} {
		w := &world{value: original, dumb: !needed}
		f := newFix(w)
		f.rec, f.tried, f.looks = &Record{Facts: map[string]*model.Facts{}}, map[string]bool{}, []int{8, 12}
		agent := f.Receiver.Agent
		change := model.Change{Setting: rmem, From: original, To: cured}
		if _, err := agent.Apply(t.Context(), model.Plan{ID: "first", Changes: []model.Change{change}}); err != nil {
			t.Fatal(err)
		}
		f.rec.Results.Steps = []model.FixStep{
			{Host: "server1", Change: &change, Plan: "first", Kept: true},
			{Host: "client1", Change: &model.Change{Setting: "another"}, Plan: "second", Kept: true},
		}
		if err := f.prune(context.Background(), f.Now()); err != nil {
			t.Fatal(err)
		}
		first := f.rec.Results.Steps[0]
		if first.Kept != needed || (w.value == cured) != needed || needed && (first.Plan == "first" || w.confirmed != first.Plan) {
			t.Errorf("needed %v: %+v, tcp_rmem is %q", needed, first, w.value)
		}
	}
}
