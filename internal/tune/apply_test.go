package tune

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

func TestApplyAndUndo(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	res := mustApply(t, tn, plan("fake.a", "fake.b"))
	k.want(t, all("new", "fake.a", "fake.b"))
	want := Entry{V: 2, Seq: 2, Plan: "p1", BootID: boot, By: "test", Setting: "fake.b", Before: "old", Wanted: "new", After: "new", State: Applied, At: fixedClock()}
	if d := cmp.Diff(want, res.Entries[1]); d != "" {
		t.Error(d)
	}
	wantOpen(t, tn, 2)

	res = mustUndo(t, tn, "p1")
	k.want(t, all("old", "fake.a", "fake.b"))
	if len(res.Entries) != 2 || res.Entries[0].Seq != 2 || res.Entries[1].State != Undone {
		t.Errorf("undone: %+v, want newest first", res.Entries)
	}
	wantOpen(t, tn, 0)
	names, err := os.ReadDir(tn.Dir)
	if err != nil || len(names) != 2 {
		t.Errorf("left behind: %v, %v, want journal and lock only", names, err)
	}
}

func TestJournalFormat(t *testing.T) {
	tn := tuner(t, newKernel("fake.a"))
	p := plan("fake.a")
	p.Changes[0].Target = "pci:0000:3b:00.0"
	mustApply(t, tn, p)
	b, err := os.ReadFile(filepath.Join(tn.Dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":2,"seq":1,"plan":"p1","boot_id":"` + boot + `","by":"test","target":"pci:0000:3b:00.0","setting":"fake.a","before":"old","wanted":"new","after":"","state":"intended","at":"2026-11-21T12:00:00Z"}
{"v":2,"seq":1,"plan":"p1","boot_id":"` + boot + `","by":"test","target":"pci:0000:3b:00.0","setting":"fake.a","before":"old","wanted":"new","after":"new","state":"applied","at":"2026-11-21T12:00:00Z"}
`
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Error(d)
	}
	var fields map[string]any
	if err := json.Unmarshal(b[:strings.IndexByte(string(b), '\n')], &fields); err != nil || len(fields) != 12 {
		t.Errorf("%d fields, %v", len(fields), err)
	}
}

func TestTwiceIsOnce(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a", "fake.b"))
	if res := mustApply(t, tn, plan("fake.a", "fake.b")); len(res.Entries) != 0 || k.writes != 2 {
		t.Errorf("second apply did %+v, %d writes", res.Entries, k.writes)
	}
	mustUndo(t, tn, "p1")
	if res := mustUndo(t, tn, "p1"); len(res.Entries) != 0 || k.writes != 4 {
		t.Errorf("second undo did %+v, %d writes", res.Entries, k.writes)
	}
	mustUndo(t, tn, "never heard of")
	// And the same plan again, as a study does for every pair.
	mustApply(t, tn, plan("fake.a", "fake.b"))
	k.want(t, all("new", "fake.a", "fake.b"))
	mustUndo(t, tn, "")
	k.want(t, all("old", "fake.a", "fake.b"))
}

func TestApplyRefusesPlans(t *testing.T) {
	for name, change := range map[string]func(*model.Plan){
		"of another version":  func(p *model.Plan) { p.V = 2 },
		"without id":          func(p *model.Plan) { p.ID = "" },
		"of an earlier boot":  func(p *model.Plan) { p.BootID = "other" },
		"unknown setting":     func(p *model.Plan) { p.Changes[1].Setting = "windows.adapter.jumbo" },
		"malformed value":     func(p *model.Plan) { p.Changes[1].To = " " },
		"malformed old value": func(p *model.Plan) { p.Changes[1].From = "" },
		"same setting twice":  func(p *model.Plan) { p.Changes[1] = p.Changes[0] },
	} {
		k := newKernel("fake.a", "fake.b")
		tn := tuner(t, k)
		p := plan("fake.a", "fake.b")
		change(&p)
		if _, err := tn.Apply(context.Background(), p); !errors.Is(err, ErrPlan) {
			t.Errorf("%s: %v, want ErrPlan", name, err)
		}
		if _, err := os.Stat(tn.Dir); err == nil || k.writes > 0 {
			t.Errorf("%s: something was touched", name)
		}
	}
}

func TestApplyRefusesChangedValues(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	k.values["fake.b"] = "someone's"
	tn := tuner(t, k)
	var changed *ChangedError
	_, err := tn.Apply(context.Background(), plan("fake.a", "fake.b"))
	if !errors.As(err, &changed) || changed.Found != "someone's" || changed.Planned != "old" {
		t.Errorf("%v, want ChangedError", err)
	}
	if k.writes != 0 {
		t.Errorf("%d writes although the second value had changed", k.writes)
	}
}

// One of three settings lies: nothing of the plan may stay.
func TestApplyAgainstLyingKernels(t *testing.T) {
	for _, c := range []struct {
		name string
		lie  func(*fakeKernel, string, string) error
		want func(error) bool
		open int // entries that cannot be undone, because the setting is gone
	}{
		{"clamp", clamp, notInForce("clamped"), 0},
		{"ignore", ignore, notInForce("old"), 0},
		{"refuse", refuse, func(err error) bool { return errors.Is(err, errRefused) }, 0},
		{"refuse half way", refuseHalfWay, func(err error) bool { return errors.Is(err, errRefused) }, 0},
		{"vanish", vanish, func(err error) bool { return errors.Is(err, errGone) }, 1},
	} {
		for _, liar := range []string{"fake.a", "fake.b", "fake.c"} {
			k := newKernel("fake.a", "fake.b", "fake.c")
			k.lies[liar] = c.lie
			tn := tuner(t, k)
			_, err := tn.Apply(context.Background(), plan("fake.a", "fake.b", "fake.c"))
			if !c.want(err) {
				t.Errorf("%s by %s: %v", c.name, liar, err)
			}
			k.want(t, all("old", "fake.a", "fake.b", "fake.c"))
			wantOpen(t, tn, c.open)
		}
	}
}

func notInForce(got string) func(error) bool {
	return func(err error) bool {
		var e *NotInForceError
		return errors.As(err, &e) && e.Got == got && e.Wanted == "new"
	}
}

func TestRollbackSurvivesCancel(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	ctx, cancel := context.WithCancel(context.Background())
	k.lies["fake.b"] = func(*fakeKernel, string, string) error { cancel(); return ctx.Err() }
	tn := tuner(t, k)
	if _, err := tn.Apply(ctx, plan("fake.a", "fake.b")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	k.want(t, all("old", "fake.a", "fake.b"))
	wantOpen(t, tn, 0)
}

func TestOneProcessAtATime(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	tn.Fault = func(string) error {
		other := &Tuner{Dir: tn.Dir, BootID: boot, Setters: tn.Setters}
		if _, err := other.Undo(context.Background(), ""); !errors.Is(err, ErrBusy) {
			t.Errorf("a second process: %v, want ErrBusy", err)
		}
		return nil
	}
	mustApply(t, tn, plan("fake.a"))
	tn.Fault = nil
	mustUndo(t, tn, "")
}

func TestStateDirectoryIsPrivate(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	info, err := os.Stat(tn.Dir)
	if err != nil || !private(info) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if info, err = os.Stat(filepath.Join(tn.Dir, scriptName)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("undo.sh: mode %v, %v", info.Mode(), err)
	}
	open := &Tuner{Dir: t.TempDir(), BootID: boot, Setters: tn.Setters}
	if err := os.Chmod(open.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Apply(context.Background(), plan("fake.a")); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a directory open to others: %v", err)
	}
}

func TestUnknownBootIsRefused(t *testing.T) {
	tn := tuner(t, newKernel("fake.a"))
	tn.BootID = ""
	p := plan("fake.a")
	p.BootID = ""
	if _, err := tn.Apply(context.Background(), p); err == nil || !strings.Contains(err.Error(), "boot id") {
		t.Errorf("%v", err)
	}
}
