package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/tune/setter"
)

// treeEnv is where the kept copy of the test binary finds the values of a test;
// unset: they are those of the running kernel.
const treeEnv = "LINERATE_TUNE_TEST_TREE"

// TestMain makes the test binary a linerate that undo.sh can start.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || os.Args[1] != ValueRole {
		os.Exit(m.Run())
	}
	tn := sysctlTuner(os.Getenv(treeEnv))
	if os.Getenv(treeEnv) == "" {
		s, f := liveSetters()
		tn.Setters = []setter.Setter{s, f}
	}
	_, err := os.Stat(filepath.Join(os.Args[2], journalName))
	if err == nil {
		err = tn.Value(context.Background(), os.Args[3:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// lacking is a mechanism whose shell calls a program that no host has.
type lacking struct{ setter.Setter }

const noProgram = "linerate-test-no-such-program"

func (l lacking) Shell(at setter.Place, like string) (setter.Shell, error) {
	_, err := l.Setter.Shell(at, like)
	return setter.Shell{Read: noProgram + " read", Write: noProgram + ` "$value"`, Programs: []string{noProgram}}, err
}

func thisProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// lackingTuner has its values in a tree, and shells that this host cannot run.
func lackingTuner(t *testing.T, program string) (dir string, tn *Tuner) {
	t.Helper()
	dir = sysctlTree(t)
	tn = sysctlTuner(dir)
	tn.BootID, tn.Program = thisBoot(t), program
	tn.Setters = []setter.Setter{lacking{tn.Setters[0]}}
	t.Setenv(treeEnv, dir)
	return dir, tn
}

// runBare runs undo.sh with a shell and coreutils, and no other program.
func runBare(t *testing.T, tn *Tuner, args ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range setter.Coreutils() {
		path, err := kernel.FindProgram(name, os.Getenv("PATH")+":"+setter.ProgramPath)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, name))
		}
		if err != nil {
			t.Skip(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(tn.Dir, scriptName))
	if err != nil {
		t.Fatal(err)
	}
	const line = "\nPATH=$PATH:" + setter.ProgramPath + "\n"
	if !strings.Contains(string(text), line) {
		t.Fatalf("the script does not look for programs:\n%s", text)
	}
	cmd := kernel.Exec(t.Context(), append([]string{"/bin/sh", "-c", strings.Replace(string(text), line, "\n", 1), scriptName}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+bin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTheScriptWorksByTheKeptCopy(t *testing.T) {
	dir, tn := lackingTuner(t, thisProgram(t))
	mustApply(t, tn, sysctlPlan(tn.BootID))
	out, err := runBare(t, tn)
	if err != nil || sysctlValues(t, dir) != "old value;old value;" || strings.Count(out, "restored to old value") != 2 {
		t.Errorf("%v: left %s\n%s", err, sysctlValues(t, dir), out)
	}
	setValues(t, dir, []string{"theirs", "it's $new"})
	out, err = runBare(t, tn)
	if err == nil || !strings.Contains(out, "theirs theirs") || sysctlValues(t, dir) != "theirs;old value;" {
		t.Errorf("%v: left %s\n%s", err, sysctlValues(t, dir), out)
	}
	if _, err := tn.UndoWith(t.Context(), UndoRequest{Force: true}); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(tn.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() == keptName || e.Name() == scriptName {
			t.Errorf("%s is still there", e.Name())
		}
	}
}

// A copy that is another program by now is not started.
func TestTheScriptStartsNoOtherProgram(t *testing.T) {
	dir, tn := lackingTuner(t, thisProgram(t))
	mustApply(t, tn, sysctlPlan(tn.BootID))
	started := filepath.Join(t.TempDir(), "started")
	if err := os.WriteFile(tn.KeptBinary(), []byte("#!/bin/sh\n: > "+setter.Quote(started)+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := runBare(t, tn)
	if err == nil || !strings.Contains(out, "is not the copy that was kept: install "+noProgram) || sysctlValues(t, dir) != "it's $new;it's $new;" {
		t.Errorf("%v: left %s\n%s", err, sysctlValues(t, dir), out)
	}
	if _, err := os.Stat(started); err == nil {
		t.Error("it was started")
	}
	if _, err := tn.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := runBare(t, tn); err != nil || sysctlValues(t, dir) != "old value;old value;" {
		t.Errorf("with the copy kept anew: %v\n%s", err, out)
	}
}

// What the script could not put back is not changed, and the reason names the
// program.
func TestRefusesWhatTheScriptCouldNotPutBack(t *testing.T) {
	for name, program := range map[string]string{"none can be kept": "", "it is gone": "/nonexistent/linerate"} {
		t.Run(name, func(t *testing.T) {
			dir, tn := lackingTuner(t, program)
			_, err := tn.Apply(t.Context(), sysctlPlan(tn.BootID))
			if !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), noProgram+", which this host lacks") || !strings.Contains(err.Error(), "install") {
				t.Errorf("%v", err)
			}
			if got := sysctlValues(t, dir); got != "old value;old value;" {
				t.Errorf("left %s", got)
			}
			if all, err := tn.History(); err != nil || len(all) != 0 {
				t.Errorf("the journal has %+v, %v", all, err)
			}
		})
	}
}

// No copy is made where the host has the programs, and none stays behind where
// nothing was changed.
func TestKeepsNoCopyWithoutNeed(t *testing.T) {
	dir := sysctlTree(t)
	tn := sysctlTuner(dir)
	tn.BootID, tn.Program = thisBoot(t), thisProgram(t)
	mustApply(t, tn, sysctlPlan(tn.BootID))
	if _, err := os.Stat(tn.KeptBinary()); !os.IsNotExist(err) {
		t.Errorf("a copy of no use: %v", err)
	}
	_, tn = lackingTuner(t, thisProgram(t))
	p := sysctlPlan(tn.BootID)
	p.ConfirmWithin = 1e9 // there is no dead-man
	if _, err := tn.Apply(t.Context(), p); !errors.Is(err, ErrPlan) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(tn.KeptBinary()); !os.IsNotExist(err) {
		t.Errorf("a copy that nothing needs: %v", err)
	}
}

// A program that went away after the change is named, and the other values are
// restored.
func TestTheScriptNamesWhatIsLacking(t *testing.T) {
	dir, tn := lackingTuner(t, "")
	bin := t.TempDir()
	labtest.Program(t, filepath.Join(bin, noProgram), strings.NewReader("#!/bin/sh\n"))
	tn.Path = bin
	mustApply(t, tn, sysctlPlan(tn.BootID))
	out, err := runBare(t, tn)
	if err == nil || strings.Count(out, "this host lacks "+noProgram+": install it, and run this again") != 2 || sysctlValues(t, dir) != "it's $new;it's $new;" {
		t.Errorf("%v: left %s\n%s", err, sysctlValues(t, dir), out)
	}
}

// exiting is a mechanism whose shell ends itself where it has nothing to do.
type exiting struct{ setter.Setter }

func (e exiting) Shell(at setter.Place, like string) (setter.Shell, error) {
	sh, err := e.Setter.Shell(at, like)
	sh.Write += "; exit 0"
	return sh, err
}

// One value's shell that ends itself does not end the script before the others
// are restored.
func TestTheScriptOutlivesAShellThatEnds(t *testing.T) {
	dir := sysctlTree(t)
	tn := sysctlTuner(dir)
	tn.BootID = thisBoot(t)
	tn.Setters = []setter.Setter{exiting{tn.Setters[0]}}
	mustApply(t, tn, sysctlPlan(tn.BootID))
	if out, err := runScript(dir); err != nil || sysctlValues(t, dir) != "old value;old value;" {
		t.Errorf("%v: left %s\n%s", err, sysctlValues(t, dir), out)
	}
}
