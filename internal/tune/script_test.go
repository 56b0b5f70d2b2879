package tune

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
)

// thisBoot is the boot id that undo.sh compares with.
func thisBoot(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Skipf("undo.sh is for Linux hosts: %v", err)
	}
	return strings.TrimSpace(string(b))
}

func runScript(dir string, args ...string) (string, error) {
	argv := append([]string{"/bin/sh", filepath.Join(dir, "state", scriptName)}, args...)
	out, err := kernel.Exec(context.Background(), argv...).CombinedOutput()
	return string(out), err
}

func applied(t *testing.T, bootID string) (string, *Tuner) {
	t.Helper()
	dir := sysctlTree(t)
	tn := sysctlTuner(dir)
	tn.BootID = bootID
	mustApply(t, tn, sysctlPlan(bootID))
	if got := sysctlValues(t, dir); got != "it's $new;it's $new;" {
		t.Fatalf("applied %s", got)
	}
	return dir, tn
}

func TestScriptRestoresAtEveryStep(t *testing.T) {
	id := thisBoot(t)
	dir := sysctlTree(t)
	tn := sysctlTuner(dir)
	tn.BootID = id
	runs := 0
	tn.Fault = func(step string) error {
		before := sysctlValues(t, dir)
		if before == "old value;old value;" {
			return nil
		}
		out, err := runScript(dir)
		if err != nil || sysctlValues(t, dir) != "old value;old value;" {
			t.Errorf("before %s: left %s: %v\n%s", step, sysctlValues(t, dir), err, out)
		}
		runs++
		setValues(t, dir, strings.Split(before, ";"))
		return nil
	}
	mustApply(t, tn, sysctlPlan(id))
	if runs < 4 {
		t.Errorf("ran only %d times", runs)
	}
}

func setValues(t *testing.T, dir string, values []string) {
	t.Helper()
	for i, name := range []string{"ipv4/tcp_words", "core/words"} {
		if err := os.WriteFile(filepath.Join(dir, "proc/sys/net", name), []byte(values[i]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestScriptThenUndo(t *testing.T) {
	dir, tn := applied(t, thisBoot(t))
	for range 2 {
		if out, err := runScript(dir); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
	mustUndo(t, tn, "")
	wantOpen(t, tn, 0)
	if got := sysctlValues(t, dir); got != "old value;old value;" {
		t.Errorf("left %s", got)
	}
}

func TestScriptLeavesTheirsAlone(t *testing.T) {
	dir, _ := applied(t, thisBoot(t))
	setValues(t, dir, []string{"theirs", "it's $new"})
	out, err := runScript(dir)
	if err == nil || !strings.Contains(out, "ours it's $new, theirs theirs, original old value") {
		t.Errorf("%v\n%s", err, out)
	}
	if got := sysctlValues(t, dir); got != "theirs;old value;" {
		t.Errorf("left %s", got)
	}
	if out, err := runScript(dir, "--force"); err != nil || sysctlValues(t, dir) != "old value;old value;" {
		t.Errorf("--force: %v\n%s", err, out)
	}
}

func TestScriptOfAnEarlierBootWritesNothing(t *testing.T) {
	thisBoot(t)
	dir, _ := applied(t, boot)
	out, err := runScript(dir, "--force")
	if err != nil || strings.Count(out, "which undid it") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	if got := sysctlValues(t, dir); got != "it's $new;it's $new;" {
		t.Errorf("left %s", got)
	}
}

func TestScriptSaysWhatFails(t *testing.T) {
	dir, _ := applied(t, thisBoot(t))
	if err := os.Remove(filepath.Join(dir, "proc/sys/net/core/words")); err != nil {
		t.Fatal(err)
	}
	out, err := runScript(dir)
	if err == nil || !strings.Contains(out, "words: cannot be read") {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "tcp_words: restored to old value") {
		t.Errorf("the other value was not restored\n%s", out)
	}
}
