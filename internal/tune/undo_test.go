package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUndoRefusesWhatOthersChanged(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a", "fake.b"))
	k.values["fake.b"] = "theirs"
	_, err := tn.Undo(context.Background(), "p1")
	var c *ConflictError
	if !errors.As(err, &c) || c.Ours != "new" || c.Theirs != "theirs" || c.Original != "old" {
		t.Fatalf("%v, want a three-way", err)
	}
	for _, word := range []string{"fake.b", `"new"`, `"theirs"`, `"old"`, "undo.sh --force"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %s", err, word)
		}
	}
	k.want(t, map[string]string{"fake.a": "old", "fake.b": "theirs"}) // the other one is restored
	wantOpen(t, tn, 1)
	if _, err := tn.Undo(context.Background(), ""); !errors.As(err, &c) {
		t.Errorf("again: %v, want a three-way", err)
	}
	k.values["fake.b"] = "new" // the way out: back to ours
	mustUndo(t, tn, "")
	k.want(t, all("old", "fake.a", "fake.b"))
	wantOpen(t, tn, 0)
}

func TestUndoWhenOthersRestoredIt(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	k.values["fake.a"] = "old"
	mustUndo(t, tn, "")
	if k.writes != 1 {
		t.Errorf("%d writes, want none by undo", k.writes)
	}
	wantOpen(t, tn, 0)
}

func TestUndoAfterRebootClosesUnwritten(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a", "fake.b"))
	k.values = map[string]string{"fake.a": "default", "fake.b": "new"} // b: persisted by somebody
	tn.BootID = "5f0c9f1e-0000-4000-8000-000000000002"
	wantOpen(t, tn, 0)
	res := mustUndo(t, tn, "")
	if len(res.Entries) != 2 || res.Entries[0].State != Closed || k.writes != 2 {
		t.Errorf("%+v, %d writes, want both closed and no write", res.Entries, k.writes)
	}
	if _, err := os.Stat(filepath.Join(tn.Dir, scriptName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("undo.sh is still there: %v", err)
	}
	if res := mustUndo(t, tn, ""); len(res.Entries) != 0 {
		t.Errorf("closed twice: %+v", res.Entries)
	}
}

func TestUndoOneFailureDoesNotStopTheRest(t *testing.T) {
	k := newKernel("fake.a", "fake.b", "fake.c")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a", "fake.b", "fake.c"))
	k.lies["fake.b"] = refuse
	_, err := tn.Undo(context.Background(), "")
	if !errors.Is(err, errRefused) {
		t.Errorf("%v", err)
	}
	k.want(t, map[string]string{"fake.a": "old", "fake.b": "new", "fake.c": "old"})
	wantOpen(t, tn, 1)
	delete(k.lies, "fake.b")
	mustUndo(t, tn, "")
	wantOpen(t, tn, 0)
}

func TestUndoThatIsNotInForceIsAnError(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	k.lies["fake.a"] = ignore
	var e *NotInForceError
	if _, err := tn.Undo(context.Background(), ""); !errors.As(err, &e) {
		t.Errorf("%v, want NotInForceError", err)
	}
	wantOpen(t, tn, 1)
}

func TestUndoStopsWhenAsked(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tn.Undo(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	wantOpen(t, tn, 1)
}

func TestUndoWithoutMechanism(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	tn.Setters = nil // an older linerate
	if _, err := tn.Undo(context.Background(), ""); err == nil || !strings.Contains(err.Error(), "no mechanism") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(tn.Dir, scriptName)); err != nil {
		t.Errorf("undo.sh is lost: %v", err)
	}
	wantOpen(t, tn, 1)
}

// What a pool, a record of open-iscsi or smb.conf keeps is not undone by a
// restart: it is put back after one, as a file is.
func TestUndoAfterRebootRestoresWhatOutlastsIt(t *testing.T) {
	k := keeper{newKernel("fake.a", "any.zfs.recordsize")}
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a", "any.zfs.recordsize"))
	if files, err := tn.Persist(context.Background(), "p1", true); err != nil || len(files) != 2 || files[1].Path != "" || !strings.Contains(files[1].Note, "already permanent") {
		t.Errorf("persist: %+v, %v", files, err)
	}
	k.values["fake.a"] = "old"
	tn.BootID = "5f0c9f1e-0000-4000-8000-000000000002"
	wantOpen(t, tn, 1)
	script, err := os.ReadFile(filepath.Join(tn.Dir, scriptName))
	if err != nil || !strings.Contains(string(script), "restore '' 'any.zfs.recordsize'") {
		t.Errorf("undo.sh would leave it: %v\n%s", err, script)
	}
	res := mustUndo(t, tn, "")
	if len(res.Entries) != 2 || res.Entries[0].State != Undone || res.Entries[1].State != Closed || len(res.Notes) != 0 {
		t.Errorf("%+v", res)
	}
	k.want(t, all("old", "fake.a", "any.zfs.recordsize"))
}

// keeper is a kernel and a pool.
type keeper struct{ *fakeKernel }

func (k keeper) Owns(id string) bool {
	return k.fakeKernel.Owns(id) || strings.HasPrefix(id, "any.zfs.")
}

// Where nothing was ever changed, undoing leaves nothing behind.
func TestUndoOfNothing(t *testing.T) {
	tn := tuner(t, newKernel())
	if res := mustUndo(t, tn, ""); len(res.Entries) != 0 {
		t.Errorf("%+v", res)
	}
	if _, err := os.Stat(tn.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left %s: %v", tn.Dir, err)
	}
	if _, err := tn.UndoWith(context.Background(), UndoRequest{To: 5}); err == nil || !strings.Contains(err.Error(), "the journal is empty") {
		t.Errorf("%v", err)
	}
}

func TestUnknownSettingNamesItsLike(t *testing.T) {
	tn := tuner(t, newKernel())
	_, err := tn.Apply(context.Background(), plan("linux.sysctl.net.ipv4.tcp_rmen"))
	if !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), "linux.sysctl.net.ipv4.tcp_rmem") {
		t.Errorf("%v", err)
	}
}

// What an undo found is recorded: a forced one must not say that it replaced our value.
func TestUndoRecordsWhatItFound(t *testing.T) {
	for _, c := range []struct{ name, now, found string }{
		{"ours", "new", ""}, {"theirs", "theirs", "theirs"}, {"restored by somebody", "old", "old"},
	} {
		k := newKernel("fake.a")
		tn := tuner(t, k)
		mustApply(t, tn, plan("fake.a"))
		k.values["fake.a"] = c.now
		if _, err := tn.Undo(context.Background(), ""); (err != nil) != (c.now == "theirs") {
			t.Errorf("%s: undo: %v", c.name, err)
		}
		if _, err := tn.UndoWith(context.Background(), UndoRequest{Force: true}); err != nil {
			t.Fatalf("%s: undo by force: %v", c.name, err)
		}
		all, err := tn.History()
		if err != nil || len(all) != 1 || all[0].State != Undone || all[0].Found != c.found {
			t.Errorf("%s: %+v, %v: want found %q", c.name, all, err, c.found)
		}
		k.want(t, map[string]string{"fake.a": "old"})
	}
}
