//go:build unix

package tune

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/lab/labtest"
)

// planted makes a state directory with a name that leads to a victim's file.
func planted(t *testing.T, dir, name string, plant func(old, new string) error) (victim string) {
	t.Helper()
	victim = filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := plant(victim, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	return victim
}

func wantPrecious(t *testing.T, victim string) {
	t.Helper()
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious\n" {
		t.Errorf("the victim has %q, %v", b, err)
	}
}

// Whoever put a link there chose what it names: no message tells root to run that.
func TestAScriptThatIsALinkIsNotOfferedAsTheWayOut(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	planted(t, tn.Dir, scriptName, os.Symlink)
	_, err := tn.Apply(context.Background(), plan("fake.a"))
	if !errors.Is(err, ErrState) {
		t.Fatalf("applied beside a script that is a link: %v; want ErrState", err)
	}
	for _, said := range []string{"sh " + filepath.Join(tn.Dir, scriptName), "--from-script", "damaged"} {
		if strings.Contains(err.Error(), said) {
			t.Errorf("%q says %q", err, said)
		}
	}
	k.want(t, map[string]string{"fake.a": "old"})
}

func TestLinkWhereAFileIsToBeMadeIsNotFollowed(t *testing.T) {
	for _, name := range []string{scriptName, keptName, waitingName} {
		t.Run(name, func(t *testing.T) {
			k := newKernel("fake.a")
			tn := tuner(t, k)
			tn.DeadMan = asleep{}
			tn.Program = "/bin/sh"
			victim := planted(t, tn.Dir, name+newSuffix, os.Symlink)
			p := plan("fake.a")
			p.ConfirmWithin = time.Hour
			mustApply(t, tn, p)
			if _, err := tn.CopyProgram(); err != nil {
				t.Fatal(err)
			}
			wantPrecious(t, victim)
			if info, err := os.Lstat(filepath.Join(tn.Dir, name)); err != nil || !info.Mode().IsRegular() {
				t.Errorf("%s is %v, %v; want a file", name, info, err)
			}
			if _, err := tn.Undo(context.Background(), ""); err != nil {
				t.Fatal(err)
			}
			k.want(t, map[string]string{"fake.a": "old"})
		})
	}
}

func TestFileOfTheStateThatIsALinkIsRefused(t *testing.T) {
	fifo := func(_, at string) error { return unix.Mkfifo(at, 0o600) }
	for _, name := range []string{journalName, lockName, scriptName, waitingName} {
		for how, plant := range map[string]func(old, new string) error{"symbolic link": os.Symlink, "names": os.Link, "special file": fifo} {
			t.Run(name+" "+how, func(t *testing.T) {
				k := newKernel("fake.a")
				tn := tuner(t, k)
				victim := planted(t, tn.Dir, name, plant)
				_, err := tn.Apply(context.Background(), plan("fake.a"))
				way := "remove it"
				if how == "names" {
					way = "move it away" // it has data of its own, perhaps the only original values
				}
				if !errors.Is(err, ErrState) || !strings.Contains(err.Error(), how) || !strings.Contains(err.Error(), way) {
					t.Errorf("applied, error %v", err)
				}
				if k.writes > 0 {
					t.Error("the kernel was written to")
				}
				wantPrecious(t, victim)
			})
		}
	}
}

func TestStateDirectoryThatIsALinkIsRefused(t *testing.T) {
	tn := tuner(t, newKernel("fake.a"))
	if err := os.Symlink(t.TempDir(), tn.Dir); err != nil {
		t.Fatal(err)
	}
	wantStateRefused(t, tn, "symbolic link", "name the directory itself")
}

func TestStateDirectoryThatOthersMayWriteToIsRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o720, 0o702, 0o777 | fs.ModeSticky} {
		tn := tuner(t, newKernel("fake.a"))
		if err := errors.Join(os.Mkdir(tn.Dir, 0o700), os.Chmod(tn.Dir, mode)); err != nil {
			t.Fatal(err)
		}
		wantStateRefused(t, tn, "others may write", "chmod 700")
	}
}

func TestStateDirectoryOfAnotherUserIsRefused(t *testing.T) {
	labtest.Needs(t, labtest.Root)
	const stranger = 65534
	tn := tuner(t, newKernel("fake.a"))
	if err := errors.Join(os.Mkdir(tn.Dir, 0o700), os.Chown(tn.Dir, stranger, stranger)); err != nil {
		t.Fatal(err)
	}
	wantStateRefused(t, tn, "belongs to user 65534", "chown root")
	if err := os.Chown(tn.Dir, 0, 0); err != nil {
		t.Fatal(err)
	}
	mustApply(t, tn, plan("fake.a"))
	if err := os.Chown(filepath.Join(tn.Dir, journalName), stranger, stranger); err != nil {
		t.Fatal(err)
	}
	_, err := tn.Undo(context.Background(), "")
	if !errors.Is(err, ErrState) {
		t.Fatalf("undone from another user's journal: %v", err)
	}
	if says := err.Error(); !strings.Contains(says, "chown root") || strings.Contains(says, "remove") {
		t.Errorf("the only original values are to be removed: %s", says)
	}
}

// wantStateRefused tries whatever reads or writes the state.
func wantStateRefused(t *testing.T, tn *Tuner, says ...string) {
	t.Helper()
	ctx := context.Background()
	for what, try := range map[string]func() error{
		"apply":   func() error { _, err := tn.Apply(ctx, plan("fake.a")); return err },
		"undo":    func() error { _, err := tn.Undo(ctx, ""); return err },
		"history": func() error { _, err := tn.History(); return err },
		"waiting": func() error { _, _, err := tn.Waiting(); return err },
		"overdue": func() error { return tn.UndoOverdue(ctx) },
		"leave":   func() error { _, err := tn.Leave(ctx); return err },
		"copy":    func() error { tn.Program = "/bin/sh"; _, err := tn.CopyProgram(); return err },
	} {
		err := try()
		if !errors.Is(err, ErrState) {
			t.Errorf("%s: %v, want ErrState", what, err)
			continue
		}
		for _, part := range says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q in it", what, err, part)
			}
		}
	}
}

// TestStateDirectoryThatIsExchangedMeanwhile has the name lead elsewhere in the middle of a plan:
// what was begun ends in the directory that was looked at.
func TestStateDirectoryThatIsExchangedMeanwhile(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	away := tn.Dir + ".away"
	var victim string
	tn.Fault = func(step string) error {
		if step == "after journal intended" {
			if err := os.Rename(tn.Dir, away); err != nil {
				return err
			}
			victim = planted(t, tn.Dir, scriptName, os.Symlink)
		}
		return nil
	}
	mustApply(t, tn, plan("fake.a"))
	wantPrecious(t, victim)
	if names, err := os.ReadDir(tn.Dir); err != nil || len(names) != 1 {
		t.Errorf("the planted directory has %v, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(away, scriptName)); err != nil {
		t.Error(err)
	}
}
