package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// harm is what happens to a journal while changes are in force.
func harms() map[string]func(path string) error {
	return map[string]func(path string) error{
		"moved away": func(path string) error { return os.Rename(path, path+".elsewhere") },
		"emptied":    func(path string) error { return os.Truncate(path, 0) },
		"zero-filled": func(path string) error {
			info, err := os.Stat(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, make([]byte, info.Size()), 0o600)
		},
		"cut": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			first := bytes.IndexByte(b, '\n') + 1
			return os.WriteFile(path, b[:first], 0o600)
		},
		"another's": func(path string) error {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, bytes.ReplaceAll(b, []byte(`"plan":"p1"`), []byte(`"plan":"p0"`)), 0o600)
		},
		"garbage": func(path string) error { return os.WriteFile(path, []byte("no journal\n"), 0o600) },
	}
}

// A journal that is not the one undo.sh was made from is damage: no command takes it for
// the absence of changes, and none removes the script.
func TestLostJournalIsDamage(t *testing.T) {
	for name, harm := range harms() {
		t.Run(name, func(t *testing.T) {
			k := newKernel("fake.a", "fake.b")
			tn := tuner(t, k)
			mustApply(t, tn, plan("fake.a", "fake.b"))
			before := readScript(t, tn)
			if err := harm(filepath.Join(tn.Dir, journalName)); err != nil {
				t.Fatal(err)
			}
			writes := k.writes
			for what, try := range map[string]func() error{
				"undo":    func() error { _, err := tn.Undo(context.Background(), ""); return err },
				"apply":   func() error { _, err := tn.Apply(context.Background(), plan("fake.a")); return err },
				"history": func() error { _, err := tn.History(); return err },
				"open":    func() error { _, err := tn.Open(); return err },
				"leave":   func() error { _, err := tn.Leave(context.Background()); return err },
			} {
				if err := try(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "--from-script") {
					t.Errorf("%s: %v, want damage and the way out", what, err)
				}
			}
			if k.writes != writes {
				t.Errorf("%d values were written", k.writes-writes)
			}
			if readScript(t, tn) != before {
				t.Error("undo.sh, the last copy of the originals, is not what it was")
			}
		})
	}
}

// Where journal and undo.sh are both gone, the lock still tells that changes were in force, until
// somebody removes it, too.
func TestLostJournalAndScript(t *testing.T) {
	for name, harm := range harms() {
		if name == "cut" || name == "another's" { // these leave entries, which are believed
			continue
		}
		t.Run(name, func(t *testing.T) {
			tn := tuner(t, newKernel("fake.a", "fake.b"))
			mustApply(t, tn, plan("fake.a", "fake.b"))
			if err := errors.Join(harm(filepath.Join(tn.Dir, journalName)), os.Remove(filepath.Join(tn.Dir, scriptName))); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first try does not wipe out what the second sees
				for what, try := range map[string]func() error{
					"undo":    func() error { _, err := tn.Undo(context.Background(), ""); return err },
					"apply":   func() error { _, err := tn.Apply(context.Background(), plan("fake.a")); return err },
					"history": func() error { _, err := tn.History(); return err },
					"leave":   func() error { _, err := tn.Leave(context.Background()); return err },
				} {
					if err := try(); !errors.Is(err, ErrDamaged) {
						t.Errorf("%s: %v, want damage", what, err)
					}
				}
			}
		})
	}
	tn := tuner(t, newKernel("fake.a", "fake.b"))
	mustApply(t, tn, plan("fake.a", "fake.b"))
	journal := filepath.Join(tn.Dir, journalName)
	if err := errors.Join(os.Remove(journal), os.Remove(filepath.Join(tn.Dir, scriptName))); err != nil {
		t.Fatal(err)
	}
	tn.Now = func() time.Time { return fixedClock().Add(time.Hour) }
	if _, err := tn.Undo(context.Background(), ""); err == nil { // a try is no count
		t.Error("nothing is wrong")
	}
	if _, err := tn.History(); err == nil || !strings.Contains(err.Error(), "2 changes were in force at "+fixedClock().Format(time.RFC3339)) || !strings.Contains(err.Error(), filepath.Join(tn.Dir, lockName)) {
		t.Errorf("%v, want how many, when, and the way out", err)
	}
	if err := os.Remove(filepath.Join(tn.Dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if all, err := tn.History(); err != nil || len(all) != 0 {
		t.Errorf("without the lock: %v, %v", all, err)
	}
}

// moveAway is what the way out says of the journal and undo.sh.
func moveAway(t *testing.T, tn *Tuner, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Rename(filepath.Join(tn.Dir, name), filepath.Join(t.TempDir(), name)); err != nil {
			t.Fatal(err)
		}
	}
}

// Of changes that a restart undid nothing is in force, though journal and script are gone.
func TestLostJournalAfterRestart(t *testing.T) {
	k := keeper{newKernel("fake.a", "any.zfs.recordsize")}
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a", "any.zfs.recordsize"))
	moveAway(t, tn, journalName, scriptName)
	tn.BootID = "second-boot"
	if _, err := tn.History(); err == nil || !strings.Contains(err.Error(), "1 change was in force") {
		t.Errorf("%v, want the one that the pool keeps", err)
	}
	tn = tuner(t, newKernel("fake.a"))
	mustApply(t, tn, plan("fake.a"))
	moveAway(t, tn, journalName, scriptName)
	if _, err := tn.Undo(context.Background(), ""); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want damage during the same boot", err)
	}
	tn.BootID = "second-boot"
	if all, err := tn.History(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	mustUndo(t, tn, "")
	if _, err := tn.Leave(context.Background()); err != nil {
		t.Errorf("leave: %v", err)
	}
}

// What the way out says can be done, and then changes are made again.
func TestWayOutOfDamage(t *testing.T) {
	k := newKernel("fake.a", "fake.b")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	for _, name := range []string{journalName, scriptName} {
		if err := os.WriteFile(filepath.Join(tn.Dir, name), []byte("rubbish\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := tn.UndoWith(context.Background(), UndoRequest{FromScript: true})
	if err == nil || !strings.Contains(err.Error(), "the file "+lockName+" beside them") {
		t.Fatalf("%v, want the lock named", err)
	}
	k.values["fake.a"] = "old"
	moveAway(t, tn, journalName, scriptName, lockName)
	mustUndo(t, tn, "")
	mustApply(t, tn, plan("fake.b"))
}

// Leave that is killed when the journal is gone and the lock is not leaves nothing in force.
func TestLeaveKilledBeforeTheLock(t *testing.T) {
	tn := tuner(t, newKernel("fake.a"))
	mustApply(t, tn, plan("fake.a"))
	tn.BootID = "second-boot"
	var left []Holder
	tn.Fault = func(step string) error {
		if step == "remove "+lockName {
			b, err := os.ReadFile(filepath.Join(tn.Dir, lockName))
			left = append(left, Holder{})
			return errors.Join(err, json.Unmarshal(b, &left[0]))
		}
		return nil
	}
	if _, err := tn.Leave(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0].Open != 0 || left[0].BootID != tn.BootID {
		t.Errorf("%+v, want one lock of this boot that counts nothing", left)
	}
}

// Nothing in force, and nothing of a journal: nothing is damaged.
func TestLockOfNothingInForce(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	mustUndo(t, tn, "")
	if err := os.Remove(filepath.Join(tn.Dir, journalName)); err != nil {
		t.Fatal(err)
	}
	mustApply(t, tn, plan("fake.a"))
	k.want(t, all("new", "fake.a"))
}

// The script is run, what it said is told, and a new journal begins; the old files stay
// until Leave.
func TestUndoFromScript(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	journal := filepath.Join(tn.Dir, journalName)
	if err := os.Truncate(journal, 0); err != nil {
		t.Fatal(err)
	}
	request := UndoRequest{FromScript: true}
	fails := errors.New("exit status 1")
	tn.RunScript = func(context.Context, ...string) ([]byte, error) { return []byte("fake.a: cannot be read\n"), fails }
	before := readScript(t, tn)
	res, err := tn.UndoWith(context.Background(), request)
	if !errors.Is(err, fails) || readScript(t, tn) != before || !strings.Contains(strings.Join(res.Notes, "\n"), "cannot be read") {
		t.Fatalf("a script that failed: %v, %q", err, res.Notes)
	}
	var ran []string
	tn.RunScript = func(_ context.Context, argv ...string) ([]byte, error) {
		ran, k.values["fake.a"] = argv, "old"
		return []byte("fake.a: restored to old\n"), nil
	}
	if res, err = tn.UndoWith(context.Background(), request); err != nil {
		t.Fatal(err)
	}
	if strings.Join(ran, " ") != "sh "+filepath.Join(tn.Dir, scriptName) || !strings.Contains(strings.Join(res.Notes, "\n"), "restored to old") {
		t.Errorf("ran %q, said %q", ran, res.Notes)
	}
	for _, kept := range []string{journalName + damagedSuffix, scriptName + usedSuffix} {
		if _, err := os.Stat(filepath.Join(tn.Dir, kept)); err != nil {
			t.Error(err)
		}
	}
	wantOpen(t, tn, 0)
	mustApply(t, tn, plan("fake.a")) // works again
	mustUndo(t, tn, "")
	if _, err := tn.Leave(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(tn.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left behind: %v", tn.Dir, err)
	}
}

// Where the journal is whole it is what is restored from.
func TestUndoFromScriptWithAWholeJournal(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	tn.RunScript = func(context.Context, ...string) ([]byte, error) { t.Error("the script was run"); return nil, nil }
	if _, err := tn.UndoWith(context.Background(), UndoRequest{FromScript: true}); err != nil {
		t.Fatal(err)
	}
	k.want(t, all("old", "fake.a"))
}

// A script of an earlier version says nothing of its journal; only an empty journal is
// damage beside it.
func TestScriptsWithoutAMark(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	mustApply(t, tn, plan("fake.a"))
	var old strings.Builder
	for line := range strings.Lines(readScript(t, tn)) {
		if !strings.HasPrefix(line, markPrefix) {
			old.WriteString(line)
		}
	}
	script := filepath.Join(tn.Dir, scriptName)
	if err := os.WriteFile(script, []byte(old.String()), 0o700); err != nil {
		t.Fatal(err)
	}
	wantOpen(t, tn, 1)
	if err := os.Remove(filepath.Join(tn.Dir, journalName)); err != nil {
		t.Fatal(err)
	}
	if _, err := tn.Undo(context.Background(), ""); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want damage", err)
	}
}

func readScript(t *testing.T, tn *Tuner) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(tn.Dir, scriptName))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzParseMark(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n# journal {\"changes\":2,\"open\":[{\"seq\":1,\"plan\":\"p\"}]}\n"))
	f.Add([]byte("# journal \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := parseMark(b)
		if ok && !bytes.Contains(b, []byte(markPrefix)) {
			t.Errorf("a mark %+v of a script without one", m)
		}
	})
}

// Who looks without the lock while another process changes and restores never sees damage.
func TestLookingWhileOthersWork(t *testing.T) {
	tn := tuner(t, newKernel("fake.a", "fake.b"))
	ended := make(chan error, 1)
	go func() {
		for range 60 {
			if _, err := tn.Apply(context.Background(), plan("fake.a", "fake.b")); err != nil {
				ended <- err
				return
			}
			if _, err := tn.Undo(context.Background(), ""); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	looker := *tn
	for {
		if _, err := looker.History(); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}
