package script

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/lab/labtest"
)

// Variables of the environment of testdata/fakehost, which is what a script calls: it counts
// calls, and kills everything at one of them.
const (
	countFile = "SCRIPT_TEST_COUNT"
	killAt    = "SCRIPT_TEST_KILL_AT"
	valuesDir = "SCRIPT_TEST_VALUES"
	failSet   = "SCRIPT_TEST_FAIL"
	realPath  = "/usr/bin:/bin"
)

var called = []string{"mv", "cp", "mkdir", "cat", "ln", "rm", "sync", "value"}

// fakehost builds that program, and is its file.
func fakehost(t *testing.T) string {
	t.Helper()
	labtest.Needs(t, labtest.Root) // a host's record has to be root's
	path := filepath.Join(t.TempDir(), "fakehost")
	if out, err := exec.Command("go", "build", "-o", path, "./testdata/fakehost").CombinedOutput(); err != nil {
		t.Fatalf("build the programs of a host: %v: %s", err, out)
	}
	return path
}

// rig is a host: three settings at 1, that a plan wants at 101, 102 and 103.
type rig struct {
	t                    *testing.T
	shell                []string
	bin, values, scratch string
	state, file          string
}

func newRig(t *testing.T, exe string, shell []string) *rig {
	t.Helper()
	root := t.TempDir()
	r := &rig{t: t, shell: shell, bin: root + "/bin", values: root + "/values", scratch: root, state: root + "/state/plans", file: root + "/change.sh"}
	for _, dir := range []string{r.bin, r.values} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range called {
		if err := os.Symlink(exe, filepath.Join(r.bin, n)); err != nil {
			t.Fatal(err)
		}
	}
	s := Script{Plan: plan, Host: "h", State: r.state, Unprivileged: true, System: System{Uname: "Linux", Boot: "cat " + root + "/boot", Schedule: "echo $1 >" + root + "/at"}}
	r.put("../boot", "1000")
	for i := 1; i <= 3; i++ {
		name := fmt.Sprintf("v%d", i)
		r.put(name, "1")
		s.Steps = append(s.Steps, Step{Name: "any.test." + name, From: "1", To: strconv.Itoa(100 + i), Mechanism: Mechanism{Read: "value get " + name, Write: "value set " + name + ` "$value"`, Runtime: i == 3}})
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) put(name, v string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.values, name), []byte(v), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) now() string {
	var all []string
	for i := 1; i <= 3; i++ {
		b, err := os.ReadFile(filepath.Join(r.values, fmt.Sprintf("v%d", i)))
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, string(b))
	}
	return strings.Join(all, " ")
}

// run runs the script in a process group of its own.
func (r *rig) run(env []string, args ...string) (string, int) {
	r.t.Helper()
	_ = os.Remove(r.scratch + "/count")
	cmd := exec.Command(r.shell[0], append(append(r.shell[1:], r.file), args...)...)
	cmd.Env = append([]string{"PATH=" + r.bin + ":" + realPath, countFile + "=" + r.scratch + "/count", valuesDir + "=" + r.values}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (r *rig) want(code int, args ...string) string {
	r.t.Helper()
	out, got := r.run(nil, args...)
	if got != code {
		r.t.Fatalf("%v %v: exit code %d, want %d:\n%s", r.shell, args, got, code, out)
	}
	return out
}

func shells(t *testing.T) [][]string {
	out := [][]string{{"sh"}}
	for _, s := range [][]string{{"dash"}, {"bash"}, {"busybox", "sh"}, {"ksh"}} {
		if _, err := exec.LookPath(s[0]); err == nil {
			out = append(out, s)
		} else {
			t.Logf("not tried: %s is not installed", s[0])
		}
	}
	return out
}

func TestAPlanIsAppliedConfirmedAndUndone(t *testing.T) {
	t.Parallel()
	exe := fakehost(t)
	for _, shell := range shells(t) {
		r := newRig(t, exe, shell)
		if out := r.want(0, "status"); !strings.Contains(out, "0 of 3 changes are open") {
			t.Errorf("%v: status: %s", shell, out)
		}
		if _, err := os.Stat(r.state); err == nil {
			t.Errorf("%v: status made %s", shell, r.state)
		}
		r.want(0, "undo")
		r.want(0, "apply", "5")
		if r.now() != "101 102 103" {
			t.Errorf("%v: applied: %s", shell, r.now())
		}
		r.want(0, "apply") // twice is once
		if out := r.want(0, "status"); !strings.Contains(out, "3 of 3 changes are open") || !strings.Contains(out, "waits to be confirmed: "+plan) {
			t.Errorf("%v: status: %s", shell, out)
		}
		r.want(0, "confirm")
		r.want(1, "confirm")
		r.want(0, "unconfirmed")
		if r.now() != "101 102 103" {
			t.Errorf("%v: a confirmed plan was undone: %s", shell, r.now())
		}
		r.file = r.state + "/" + plan + "/change.sh" // by the copy that is kept
		r.want(0, "undo")
		r.want(0, "undo")
		if r.now() != "1 1 1" {
			t.Errorf("%v: undone: %s", shell, r.now())
		}
		r.want(0, "apply", "5")
		r.want(0, "unconfirmed")
		if r.now() != "1 1 1" {
			t.Errorf("%v: not undone at its time: %s", shell, r.now())
		}
		r.want(1, "confirm")
		for _, bad := range [][]string{{}, {"apply", "05"}, {"apply", "-1"}, {"apply", "1", "2"}, {"undo", "x"}, {"status", "x"}, {"restore"}} {
			r.want(2, bad...)
		}
	}
}

// What a write does not do as it should: nothing of the plan stays.
func TestAPlanThatFailsIsPutBack(t *testing.T) {
	r := newRig(t, fakehost(t), []string{"sh"})
	for _, how := range []string{"refuse:v3", "ignore:v2", "refuse:v1"} {
		out, code := r.run([]string{failSet + "=" + how}, "apply")
		if code != 1 || r.now() != "1 1 1" {
			t.Errorf("%s: exit code %d, %s:\n%s", how, code, r.now(), out)
		}
	}
	out, code := r.run([]string{failSet + "=round:v2"}, "apply")
	if code != 0 || r.now() != "101 64 103" || !strings.Contains(out, "the system made 64 of 102") {
		t.Errorf("exit code %d, %s:\n%s", code, r.now(), out)
	}
	r.want(0, "undo")
	if r.now() != "1 1 1" {
		t.Errorf("undone: %s", r.now())
	}
}

func TestWhatSomebodyElseChangedIsLeftAlone(t *testing.T) {
	r := newRig(t, fakehost(t), []string{"sh"})
	r.put("v2", "7")
	if out := r.want(1, "apply"); r.now() != "1 7 1" || !strings.Contains(out, "is 7, and the plan was made for 1: nothing was changed") {
		t.Errorf("%s:\n%s", r.now(), out)
	}
	r.put("v2", "1")
	r.want(0, "apply")
	r.put("v2", "7")
	r.want(1, "apply")
	if out := r.want(4, "undo"); r.now() != "1 7 1" || !strings.Contains(out, "ours 102, theirs 7, original 1") {
		t.Errorf("%s:\n%s", r.now(), out)
	}
	r.want(0, "undo", "--force")
	if r.now() != "1 1 1" {
		t.Errorf("forced: %s", r.now())
	}
}

// A rollback that could not put everything back is tried again by the host, until it is done.
func TestARollbackThatFailsIsTriedAgain(t *testing.T) {
	r := newRig(t, fakehost(t), []string{"sh"})
	minutes := func() string {
		b, err := os.ReadFile(r.scratch + "/at")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	out, code := r.run([]string{failSet + "=refuse:v3,failing:v1"}, "apply", "5")
	if code != NotRestored || r.now() != "101 1 1" || minutes() != "5" || !strings.Contains(out, "tries again by itself") {
		t.Errorf("%d, %s, in %s:\n%s", code, r.now(), minutes(), out)
	}
	out, code = r.run([]string{failSet + "=failing:v1"}, "unconfirmed")
	if code != NotRestored || r.now() != "101 1 1" || minutes() != "10" || !strings.Contains(out, "tries again by itself") {
		t.Errorf("%d, %s, in %s:\n%s", code, r.now(), minutes(), out)
	}
	if out := r.want(0, "unconfirmed"); r.now() != "1 1 1" {
		t.Errorf("%s:\n%s", r.now(), out)
	}
	r.want(1, "confirm") // nothing waits
	out, code = r.run([]string{failSet + "=refuse:v3,failing:v1"}, "apply")
	if code != NotRestored || !strings.Contains(out, "does not try again by itself") {
		t.Errorf("%d:\n%s", code, out)
	}
	r.want(0, "undo")
	// What somebody else changed is not tried again.
	r.want(0, "apply", "5")
	r.put("v2", "7")
	r.want(NotRestored, "unconfirmed")
	if r.now() != "1 7 1" {
		t.Error(r.now())
	}
	r.want(1, "confirm")
}

// The records may be lost; the originals stand in the script.
func TestUndoWithoutRecords(t *testing.T) {
	r := newRig(t, fakehost(t), []string{"sh"})
	r.want(0, "apply")
	if err := os.RemoveAll(filepath.Dir(r.state)); err != nil {
		t.Fatal(err)
	}
	if out := r.want(4, "undo"); !strings.Contains(out, "there is no record that the plan did it") || r.now() != "101 102 103" {
		t.Errorf("%s:\n%s", r.now(), out)
	}
	r.want(0, "undo", "--force")
	if r.now() != "1 1 1" {
		t.Errorf("forced: %s", r.now())
	}
}

func TestARestartUndoesWhatOnlyRuns(t *testing.T) {
	r := newRig(t, fakehost(t), []string{"sh"})
	r.want(0, "apply")
	r.put("../boot", "2000")
	r.put("v3", "9") // what the system begins with now
	r.want(0, "undo")
	if r.now() != "1 1 9" {
		t.Errorf("undone: %s", r.now())
	}
}

func TestDirectoriesOfOthersAreRefused(t *testing.T) {
	r := newRig(t, fakehost(t), []string{"sh"})
	other := t.TempDir()
	if err := os.MkdirAll(r.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, r.state+"/"+plan); err != nil {
		t.Fatal(err)
	}
	r.want(1, "apply")
	if err := os.Remove(r.state + "/" + plan); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.state+"/"+plan, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(r.state+"/"+plan, 0o777); err != nil {
		t.Fatal(err)
	}
	r.want(1, "apply")
	if left, err := os.ReadDir(other); r.now() != "1 1 1" || err != nil || len(left) > 0 {
		t.Errorf("%s, %v, %v", r.now(), left, err)
	}
}

// Killed before or after any program that it calls, a plan is undone by its script, and applied
// again by it.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	shell, exe := []string{"sh"}, fakehost(t)
	r := newRig(t, exe, shell)
	r.want(0, "apply", "5")
	b, err := os.ReadFile(r.scratch + "/count")
	if err != nil {
		t.Fatal(err)
	}
	calls, err := strconv.Atoi(string(b))
	if err != nil || calls < 20 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	step := 1
	if testing.Short() || os.Getenv("LINERATE_LONG") == "" {
		step = 29 // the suite of all kinds has many more moments, in the shell inside
	}
	for at := -calls; at <= calls; at += step {
		if at == 0 {
			continue
		}
		kill := []string{killAt + "=" + strconv.Itoa(at)}
		r := newRig(t, exe, shell)
		r.run(kill, "apply", "5")
		again := newRig(t, exe, shell)
		again.run(kill, "apply", "5")
		if out, code := again.run(nil, "apply", "5"); code != 0 || again.now() != "101 102 103" {
			t.Errorf("killed at %d, applied again: exit code %d, %s\n%s", at, code, again.now(), out)
		}
		for _, x := range []*rig{r, again} {
			was := x.now()
			x.run(kill, "undo")
			if out, code := x.run(nil, "undo"); code != 0 || x.now() != "1 1 1" {
				t.Errorf("killed at %d at %s, undone: exit code %d, %s\n%s", at, was, code, x.now(), out)
			}
		}
	}
}

func TestNoTextEscapesFromAValue(t *testing.T) {
	good := Script{Plan: plan, State: "/x", Steps: []Step{{Name: "any.zfs.atime@zfs:tank/media", From: "inherit:on", To: "off"}}}
	if _, err := good.Text(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "a b", "$(x)", "`x`", "a'b", "a\nb", "a;b", `a"b`, "a|b", strings.Repeat("a", 201), "ä"} {
		s := good
		s.Steps = []Step{{Name: "any.x", From: bad, To: "1"}}
		if _, err := s.Text(); !errors.Is(err, ErrValue) {
			t.Errorf("from %q: %v", bad, err)
		}
		s.Steps = []Step{{Name: "any.x", From: "1", To: bad}}
		if _, err := s.Text(); !errors.Is(err, ErrValue) {
			t.Errorf("to %q: %v", bad, err)
		}
	}
	for _, args := range [][]string{{"../x"}, {"A"}, {"a b"}} {
		if _, err := (System{}).OnPlans("/x", args[0], "undo"); !errors.Is(err, ErrValue) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := (System{}).Carry(heredoc + "\n"); !errors.Is(err, ErrValue) {
		t.Errorf("heredoc: %v", err)
	}
}
