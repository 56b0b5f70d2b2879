package tune

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
)

// A script that was cut, emptied, zero-filled or edited is not taken for one that restored
// everything: nothing of it is run, and both files stay.
func TestScriptThatIsNotWholeIsNotTrusted(t *testing.T) {
	for name, harm := range map[string]func(string) string{
		"emptied":        func(string) string { return "" },
		"cut":            func(s string) string { return s[:strings.LastIndex(s, "\nread_now")+1] },
		"end lost":       func(s string) string { return s[:strings.LastIndex(s, "\nexit ")] },
		"zero-filled":    func(s string) string { return string(make([]byte, len(s))) },
		"zeros within":   func(s string) string { return s[:2500] + string(make([]byte, 64)) + s[2564:] },
		"edited":         func(s string) string { return strings.Replace(s, "'old value'", "'ol  value'", 1) },
		"sum of another": func(s string) string { return s[:len(s)-8] + "0000000\n" },
		"appended to":    func(s string) string { return s + "exit 0\n" },
	} {
		t.Run(name, func(t *testing.T) {
			_, tn := applied(t, thisBoot(t))
			tn.RunScript = func(context.Context, ...string) ([]byte, error) {
				t.Error("the script was run")
				return nil, nil
			}
			script, journal := filepath.Join(tn.Dir, scriptName), filepath.Join(tn.Dir, journalName)
			text := harm(readScript(t, tn))
			if err := errors.Join(os.WriteFile(script, []byte(text), 0o700), os.WriteFile(journal, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			_, err := tn.UndoWith(context.Background(), UndoRequest{FromScript: true})
			if !errors.Is(err, ErrScript) || !strings.Contains(err.Error(), script) {
				t.Errorf("%v", err)
			}
			if now := readScript(t, tn); now != text {
				t.Error("the script was changed")
			}
			if _, err := os.Stat(journal); err != nil {
				t.Error(err)
			}
		})
	}
}

// A script of an earlier version has no sum, and is run as long as its end is there.
func TestWholeScriptsOfEarlierVersions(t *testing.T) {
	for text, whole := range map[string]bool{
		"#!/bin/sh\nfailed=0\n\nexit \"$failed\"\n": true,
		"#!/bin/sh\nfailed=0\n\nexit \"$fail":       false,
		"":                                          false,
	} {
		if err := wholeScript([]byte(text)); (err == nil) != whole {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Cut anywhere and run by hand, the script does not end well.
func TestCutScriptSaysSo(t *testing.T) {
	dir, tn := applied(t, thisBoot(t))
	text := readScript(t, tn)
	begins, ends := strings.Index(text, "\nsys="), strings.LastIndex(text, "\nexit ")
	changed := strings.Split(sysctlValues(t, dir), ";")
	for at := begins + 1; at <= ends; at += 1 + (ends-begins)/60 {
		setValues(t, dir, changed)
		if err := os.WriteFile(filepath.Join(tn.Dir, scriptName), []byte(text[:at]), 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := runScript(dir); err == nil && at < ends-len("whole=yes") {
			t.Fatalf("cut after %d of %d bytes it ends well: %s", at, len(text), out)
		}
	}
}

// A journal that was lost with undo.sh is missed while its plan waits to be confirmed.
func TestJournalThatIsLostWhileAPlanWaits(t *testing.T) {
	tn, k := waits(t)
	for _, name := range []string{journalName, scriptName} {
		if err := os.Remove(filepath.Join(tn.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for what, try := range map[string]func() error{
		"undo":        func() error { _, err := tn.Undo(context.Background(), ""); return err },
		"from script": func() error { _, err := tn.UndoWith(context.Background(), UndoRequest{FromScript: true}); return err },
		"confirm":     func() error { return tn.Confirm(context.Background(), "p1") },
		"history":     func() error { _, err := tn.History(); return err },
	} {
		if err := try(); err == nil || !errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), lastWay) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(tn.Dir, waitingName)); err != nil {
		t.Errorf("what tells of the change: %v", err)
	}
	k.want(t, all("new", "fake.a"))
}

// A watcher whose journal is damaged meanwhile undoes by the script, and so does whoever finds
// the plan overdue.
func TestDeadManUndoesByTheScript(t *testing.T) {
	for name, undo := range map[string]func(*Tuner) error{
		"watcher": func(tn *Tuner) error { return tn.Watch(context.Background(), "p1") },
		"overdue": func(tn *Tuner) error { return tn.UndoOverdue(context.Background()) },
	} {
		for what, harm := range harms() {
			if what == "cut" { // of one line, that leaves what is needed
				continue
			}
			t.Run(name+", "+what, func(t *testing.T) {
				dir := sysctlTree(t)
				tn := sysctlTuner(dir)
				tn.BootID, tn.DeadMan, tn.RunScript = thisBoot(t), asleep{}, kernel.Run
				p := sysctlPlan(tn.BootID)
				p.ConfirmWithin = time.Minute
				mustApply(t, tn, p)
				if err := harm(filepath.Join(tn.Dir, journalName)); err != nil {
					t.Fatal(err)
				}
				tn.Now = func() time.Time { return time.Now().Add(time.Hour) }
				if err := undo(tn); err != nil {
					t.Fatal(err)
				}
				if got := sysctlValues(t, dir); got != "old value;old value;" {
					t.Errorf("left %s", got)
				}
				if w, ok, err := readWaiting(tn.Dir); err != nil || !ok || w.Fired.IsZero() || w.Plan != "p1" {
					t.Errorf("its record: %+v, %v", w, err)
				}
				kept, err := os.ReadFile(filepath.Join(tn.Dir, scriptName+usedSuffix))
				if err != nil || !bytes.Contains(kept, []byte(markPrefix)) {
					t.Errorf("the script: %v", err)
				}
			})
		}
	}
}

// What lies in the place of the record and is none means that nobody confirmed.
func TestRecordThatIsNoFile(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"a link":      func(path string) error { return os.Symlink("/etc/hostname", path) },
	} {
		t.Run(name, func(t *testing.T) {
			tn, k := waits(t)
			path := filepath.Join(tn.Dir, waitingName)
			if err := errors.Join(os.Remove(path), put(path)); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(context.Background(), time.Second)
			defer stop()
			// Of a directory it cannot write down that it has acted, and would try again.
			if err := tn.Watch(ctx, "p1"); (err == nil) != (name == "a link") {
				t.Error(err)
			}
			k.want(t, all("old", "fake.a"))
			if name == "a link" {
				return // replaced by the record of what was done
			}
			if err := tn.Confirm(context.Background(), "p1"); !errors.Is(err, ErrRecord) {
				t.Errorf("confirmed: %v", err)
			}
			_, err := tn.Undo(context.Background(), "")
			if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), "remove it") {
				t.Error(err)
			}
		})
	}
}

// A state directory that became read-only holds up no undo: values are restored, what could not
// be written down is said, and found out later.
func TestUndoOnAReadOnlyDisk(t *testing.T) {
	labtest.Needs(t, labtest.Root)
	for name, undo := range map[string]func(*Tuner) error{
		"undo": func(tn *Tuner) error {
			res, err := tn.Undo(context.Background(), "")
			if !strings.Contains(strings.Join(res.Notes, "\n"), "not written down") {
				t.Errorf("notes %q", res.Notes)
			}
			return err
		},
		"watcher": func(tn *Tuner) error {
			ctx, stop := context.WithTimeout(context.Background(), time.Second)
			defer stop()
			if err := tn.Watch(ctx, "p1"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the watcher: %v", err) // it goes on, to write down that it has acted
			}
			if p, ok, err := tn.Pending(ctx); err != nil || !ok || !strings.Contains(p.Alarm(), "is overdue") {
				t.Errorf("pending: %+v, %q, %v", p, p.Alarm(), err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			tn, k := waits(t)
			readOnly(t, tn.Dir)
			pass(tn, time.Hour)
			if err := undo(tn); err != nil {
				t.Fatal(err)
			}
			k.want(t, all("old", "fake.a"))
			if _, err := tn.Apply(context.Background(), plan("fake.a")); !unwritable(err) {
				t.Errorf("applied where nothing can be written down: %v", err)
			}
			k.want(t, all("old", "fake.a"))
			writes := k.writes
			if err := unix.Mount("", tn.Dir, "", unix.MS_REMOUNT|unix.MS_BIND, ""); err != nil {
				t.Fatal(err)
			}
			if _, err := tn.Undo(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
			wantOpen(t, tn, 0)
			if k.writes != writes {
				t.Error("a value that was as it was is written again")
			}
		})
	}
}

// readOnly has a directory refuse writes until the test ends.
func readOnly(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("needs to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}
