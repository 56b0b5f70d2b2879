package tune

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/persist"
)

const keptSysctls = "etc/sysctl.d/99-zz-linerate.conf"

// persisting is a tuner on a tree with a fstab and nothing else in /etc.
func persisting(t *testing.T, bootID string) (dir string, tn *Tuner) {
	t.Helper()
	dir = sysctlTree(t)
	if err := os.Mkdir(filepath.Join(dir, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	tn = sysctlTuner(dir)
	tn.Root, tn.BootID = kernel.Root(dir), bootID
	return dir, tn
}

// etc is everything below etc with modes and owners.
func etc(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(filepath.Join(dir, "etc"), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		b.WriteString(strings.TrimPrefix(path, dir) + " " + info.Mode().String())
		if d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(text))
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPersistAndUndo(t *testing.T) {
	dir, tn := persisting(t, boot)
	before := etc(t, dir)
	ctx := context.Background()
	if _, err := tn.Persist(ctx, "p1", false); !errors.Is(err, ErrPlan) {
		t.Errorf("a plan that never was: %v", err)
	}
	p := sysctlPlan(boot)
	planned, err := tn.Files(ctx, p)
	if err != nil || etc(t, dir) != before {
		t.Errorf("before it is applied: %v", err)
	}
	p.Changes[0].To = ""
	if _, err := tn.Files(ctx, p); !errors.Is(err, ErrPlan) {
		t.Errorf("files of a plan that nobody could apply: %v", err)
	}
	mustApply(t, tn, sysctlPlan(boot))
	dry, err := tn.Persist(ctx, "p1", true)
	if err != nil || len(dry) != 1 || dry[0].Existed || etc(t, dir) != before || !reflect.DeepEqual(dry, planned) {
		t.Fatalf("dry: %+v, %v, planned %+v", dry, err, planned)
	}
	wantOpen(t, tn, 2)
	done, err := tn.Persist(ctx, "p1", false)
	if err != nil || len(done) != 1 || done[0].After != dry[0].After {
		t.Fatalf("%+v, %v", done, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, keptSysctls))
	if err != nil || string(b) != persist.Mark+"net.core.words = it's $new\nnet.ipv4.tcp_words = it's $new\n" {
		t.Errorf("%q, %v", b, err)
	}
	wantOpen(t, tn, 4) // two values, a directory, a file
	if again, err := tn.Persist(ctx, "p1", false); err != nil || len(again) != 0 {
		t.Errorf("again: %+v, %v", again, err)
	}
	mustUndo(t, tn, "p1")
	if after := etc(t, dir); after != before {
		t.Errorf("left:\n%swant:\n%s", after, before)
	}
	if got := sysctlValues(t, dir); got != "old value;old value;" {
		t.Errorf("left %s", got)
	}
	wantOpen(t, tn, 0)
}

// After a restart the values are gone and the files are not: those are put
// back, and the script says the same.
func TestPersistedOutlivesABoot(t *testing.T) {
	for _, byScript := range []bool{false, true} {
		dir, tn := persisting(t, boot)
		before := etc(t, dir)
		mustApply(t, tn, sysctlPlan(boot))
		if _, err := tn.Persist(context.Background(), "p1", false); err != nil {
			t.Fatal(err)
		}
		setValues(t, dir, []string{"of this boot", "of this boot"})
		tn.BootID = "5f0c9f1e-0000-4000-8000-000000000002"
		wantOpen(t, tn, 2) // the file and its directory
		if _, err := tn.Leave(context.Background()); !errors.Is(err, ErrOpen) {
			t.Errorf("left although files are open: %v", err)
		}
		if byScript {
			thisBoot(t)
			if out, err := runScript(dir); err != nil || strings.Count(out, "which undid it") != 2 {
				t.Errorf("%v\n%s", err, out)
			}
		}
		res := mustUndo(t, tn, "")
		if len(res.Notes) != 1 || res.Entries[0].State != Undone || res.Entries[3].State != Closed {
			t.Errorf("%+v", res)
		}
		if after := etc(t, dir); after != before || sysctlValues(t, dir) != "of this boot;of this boot;" {
			t.Errorf("left %s:\n%swant:\n%s", sysctlValues(t, dir), after, before)
		}
		left, err := tn.Leave(context.Background())
		if err != nil || len(left.Kept) != 0 {
			t.Errorf("leave: %+v, %v", left, err)
		}
		if _, err := os.Stat(tn.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("still there: %v", err)
		}
	}
}

// A file that somebody else changed since is left to them, and shown.
func TestPersistedFileChangedByOthers(t *testing.T) {
	dir, tn := persisting(t, boot)
	mustApply(t, tn, sysctlPlan(boot))
	if _, err := tn.Persist(context.Background(), "p1", false); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, keptSysctls)
	if err := os.WriteFile(file, []byte("theirs\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := tn.Undo(context.Background(), "")
	var c *ConflictError
	if !errors.As(err, &c) || !strings.Contains(c.Where, keptSysctls) || c.Original != "absent" {
		t.Errorf("%v", err)
	}
	if b, err := os.ReadFile(file); string(b) != "theirs\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := tn.UndoWith(context.Background(), UndoRequest{Force: true}); err != nil {
		t.Error(err)
	}
	wantOpen(t, tn, 0)
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
}

// Every step of Persist fails in turn: no file may stay.
func TestPersistFailsWhole(t *testing.T) {
	broken := errors.New("broken")
	failures := 0
	for n := 1; ; n++ {
		dir, tn := persisting(t, boot)
		before := etc(t, dir)
		mustApply(t, tn, sysctlPlan(boot))
		left := n
		tn.Fault = func(string) error {
			if left--; left == 0 {
				return broken
			}
			return nil
		}
		if _, err := tn.Persist(context.Background(), "p1", false); err == nil {
			break
		} else if !errors.Is(err, broken) {
			t.Errorf("step %d: %v", n, err)
		}
		failures++
		tn.Fault = nil
		if after := etc(t, dir); after != before {
			t.Errorf("step %d left:\n%s", n, after)
		}
		mustUndo(t, tn, "")
		wantOpen(t, tn, 0)
	}
	if failures < 8 {
		t.Errorf("only %d steps", failures)
	}
}

func TestPersistRefusesWhatWaits(t *testing.T) {
	_, tn := persisting(t, boot)
	tn.DeadMan = asleep{}
	p := sysctlPlan(boot)
	p.Changes[0].Cuts = true // so that it waits without being told to
	if res := mustApply(t, tn, p); res.Deadline.IsZero() {
		t.Error("a change that cuts is not watched over")
	}
	if _, err := tn.Persist(context.Background(), "p1", false); !errors.Is(err, ErrUnconfirmed) {
		t.Errorf("%v", err)
	}
	// Who is about to confirm may see the files first; nothing is written.
	for range 2 {
		if files, err := tn.Persist(context.Background(), "p1", true); err != nil || len(files) == 0 || files[0].Existed {
			t.Errorf("%+v %v", files, err)
		}
	}
	if err := tn.Confirm(context.Background(), "p1"); err != nil {
		t.Error(err)
	}
	if _, err := tn.Persist(context.Background(), "p1", false); err != nil {
		t.Error(err)
	}
}

// asleep is a dead-man that never acts by itself.
type asleep struct{}

// No plan may name a file: whoever can send one would write to /etc.
func TestPlansNameNoFiles(t *testing.T) {
	_, tn := persisting(t, boot)
	p := sysctlPlan(boot)
	p.Changes[0].Setting, p.Changes[0].From, p.Changes[0].To = "linux.file./etc/fstab", "absent", "absent"
	if _, err := tn.Apply(context.Background(), p); !errors.Is(err, ErrPlan) {
		t.Errorf("%v", err)
	}
}
