package tune

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune/setter"
)

// moment is what a crash just before a step would leave.
type moment struct {
	step    string
	journal []byte
	script  []byte // nil: none
	values  map[string]string
}

// record returns the moments of an Apply and an Undo of three changes.
func record(t *testing.T, lie func(*fakeKernel, string, string) error) []moment {
	t.Helper()
	k := newKernel("fake.a", "fake.b", "fake.c")
	if lie != nil {
		k.lies["fake.b"] = lie
	}
	tn := tuner(t, k)
	var out []moment
	take := func(step string) error {
		m := moment{step: step, values: maps.Clone(k.values)}
		m.journal, _ = os.ReadFile(filepath.Join(tn.Dir, "journal.jsonl"))
		m.script, _ = os.ReadFile(filepath.Join(tn.Dir, scriptName))
		out = append(out, m)
		return nil
	}
	tn.Fault = take
	_, err := tn.Apply(context.Background(), plan("fake.a", "fake.b", "fake.c"))
	if (err != nil) != (lie != nil) {
		t.Fatalf("apply: %v", err)
	}
	mustUndo(t, tn, "")
	return append(out, out[len(out)-1])
}

// TestUndoFromEveryCut cuts the journal at every byte that a crash could leave
// last, with the kernel as it was then.
func TestUndoFromEveryCut(t *testing.T) {
	t.Parallel()
	cuts := 0
	moments := record(t, nil)
	for i, m := range moments[:len(moments)-1] {
		next := moments[i+1].journal
		for end := len(m.journal); end <= max(len(next), len(m.journal)); end++ {
			whole := m.journal
			if end > len(m.journal) {
				whole = next[:end]
			}
			checkUndoFrom(t, fmt.Sprintf("before step %d (%s), %d bytes", i, m.step, end), m.values, whole)
			cuts++
		}
	}
	if cuts < 1000 {
		t.Errorf("only %d cuts", cuts)
	}
}

// inMemory is a directory where a sync costs nothing, if there is one.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "linerate-tune-test-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func checkUndoFrom(t *testing.T, name string, values map[string]string, journal []byte) {
	t.Helper()
	k := newKernel()
	k.values = maps.Clone(values)
	tn := tuner(t, k)
	tn.Dir = inMemory(t)
	if err := os.WriteFile(filepath.Join(tn.Dir, "journal.jsonl"), journal, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tn.Undo(context.Background(), ""); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, journal)
	}
	if !maps.Equal(k.values, all("old", "fake.a", "fake.b", "fake.c")) {
		t.Fatalf("%s: left %v\n%s", name, k.values, journal)
	}
	wantOpen(t, tn, 0)
	// The torn end must not have damaged what is written after it.
	if _, err := readJournal(tn.Dir, tn.BootID); err != nil {
		t.Fatalf("%s: journal afterwards: %v", name, err)
	}
}

// A kernel that clamps and a crash before the read-back was recorded leave a
// value that may as well be somebody else's: it is shown, not overwritten.
func TestCrashBeforeAClampIsRecorded(t *testing.T) {
	conflicts := 0
	for _, m := range record(t, clamp) {
		k := newKernel()
		k.values = maps.Clone(m.values)
		tn := tuner(t, k)
		if err := os.Mkdir(tn.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tn.Dir, "journal.jsonl"), m.journal, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := tn.Undo(context.Background(), "")
		var c *ConflictError
		switch {
		case errors.As(err, &c):
			conflicts++
			if c.Theirs != "clamped" || k.values["fake.b"] != "clamped" || k.values["fake.a"] != "old" {
				t.Errorf("%s: %v, left %v", m.step, err, k.values)
			}
		case err != nil:
			t.Errorf("%s: %v", m.step, err)
		default:
			k.want(t, all("old", "fake.a", "fake.b", "fake.c"))
		}
	}
	if conflicts != 3 { // after the write, before the read-back, and before its record
		t.Errorf("%d conflicts, want 3", conflicts)
	}
}

// TestEveryStepFails makes each step of Apply fail in turn, for good: a full
// disk does not get better. What cannot be undone then is undone later.
func TestEveryStepFails(t *testing.T) {
	broken := errors.New("broken")
	for _, forGood := range []bool{false, true} {
		for n := 1; ; n++ {
			k := newKernel("fake.a", "fake.b")
			tn := tuner(t, k)
			calls, failed := 0, ""
			tn.Fault = func(step string) error {
				calls++
				if calls == n || forGood && calls > n {
					failed += step + " "
					return broken
				}
				return nil
			}
			_, err := tn.Apply(context.Background(), plan("fake.a", "fake.b"))
			if failed == "" {
				break
			}
			if !errors.Is(err, broken) {
				t.Errorf("step %d (%s): error %v", n, failed, err)
			}
			if !forGood {
				k.want(t, all("old", "fake.a", "fake.b"))
			}
			tn.Fault = nil
			mustUndo(t, tn, "")
			k.want(t, all("old", "fake.a", "fake.b"))
			wantOpen(t, tn, 0)
		}
	}
}

// TestFullDiskDoesNotKeepAValue: when nothing can be recorded any more, the
// value is restored all the same.
func TestFullDiskDoesNotKeepAValue(t *testing.T) {
	k := newKernel("fake.a")
	tn := tuner(t, k)
	full := errors.New("no space left on device")
	tn.Fault = func(step string) error {
		if step == "journal applied" || step == "journal undone" || step == "script" && k.values["fake.a"] == "new" {
			return full
		}
		return nil
	}
	if _, err := tn.Apply(context.Background(), plan("fake.a")); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	k.want(t, all("old", "fake.a"))
}

// The kill -9 test: this test binary runs itself as a process that kills
// itself before step n of applying a plan to files that stand for /proc/sys.
const killEnv = "LINERATE_TUNE_TEST_KILL"

var sysctls = []string{"linux.sysctl.net.ipv4.tcp_words", "linux.sysctl.net.core.words"}

func sysctlTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"ipv4/tcp_words", "core/words"} {
		path := filepath.Join(dir, "proc/sys/net", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("old\tvalue\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func sysctlTuner(dir string) *Tuner {
	return &Tuner{Dir: filepath.Join(dir, "state"), BootID: boot, By: "test", Setters: []setter.Setter{setter.Sysctl{Root: kernel.Root(dir)}}}
}

func sysctlPlan(bootID string) model.Plan {
	p := model.Plan{V: model.PlanVersion, ID: "p1", BootID: bootID}
	for _, id := range sysctls {
		p.Changes = append(p.Changes, model.Change{Setting: id, From: "old value", To: "it's $new"})
	}
	return p
}

func sysctlValues(t *testing.T, dir string) string {
	t.Helper()
	var out []byte
	for _, name := range []string{"ipv4/tcp_words", "core/words"} {
		b, err := os.ReadFile(filepath.Join(dir, "proc/sys/net", name))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, bytes.Join(bytes.Fields(b), []byte(" "))...)
		out = append(out, ';')
	}
	return string(out)
}

func TestKilledChild(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv(killEnv))
	if err != nil {
		return // not a child: TestKill9 is the test
	}
	tn := sysctlTuner(os.Getenv(killEnv + "_DIR"))
	tn.Fault = func(string) error {
		if n--; n == 0 {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			if err := self.Kill(); err != nil {
				return err
			}
			select {} // the signal is on its way
		}
		return nil
	}
	if _, err := tn.Apply(context.Background(), sysctlPlan(boot)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr, "applied all")
}

func TestKill9(t *testing.T) {
	t.Parallel()
	kills, changed := 0, 0
	for n := 1; ; n++ {
		dir := sysctlTree(t)
		cmd := kernel.Exec(context.Background(), os.Args[0], "-test.run=^TestKilledChild$")
		cmd.Env = append(os.Environ(), killEnv+"="+strconv.Itoa(n), killEnv+"_DIR="+dir)
		cmd.Stdout = io.Discard
		if err := cmd.Run(); err == nil {
			break
		}
		kills++
		if sysctlValues(t, dir) != "old value;old value;" {
			changed++
		}
		mustUndo(t, sysctlTuner(dir), "")
		if got := sysctlValues(t, dir); got != "old value;old value;" {
			t.Errorf("killed before step %d: left %s", n, got)
		}
		wantOpen(t, sysctlTuner(dir), 0)
	}
	if kills < 10 || changed < 4 {
		t.Errorf("%d kills, %d with a changed value: the test does not test", kills, changed)
	}
}
