package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// How a copy ended that was killed, or was over by then, is told with what it had written.
func TestTheEndOfAKilledCopyIsTold(t *testing.T) {
	for _, c := range []struct {
		script, after string
		want          int
	}{{"exec sleep 100", "0.1", killedStatus}, {"exit 6", "3", 6}} {
		script := strings.ReplaceAll(killAfter, "/tmp/said", filepath.Join(t.TempDir(), "said"))
		out, err := exec.Command("sh", "-c", script, c.after, "sh", "-c", c.script).Output()
		var status, wrote int
		if _, serr := fmt.Sscan(string(out), &status, &wrote); err != nil || serr != nil || status != c.want {
			t.Errorf("%s: %q, %v, %v", c.script, out, err, serr)
		}
	}
}

// Of files that have names those that differ are named, and temporary ones are not looked at.
func TestWhatHasItsNameOnAMountIsCompared(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, content := range map[string][2]string{"same": {"a", "a"}, "other": {"a", "b"}, ".x.linerate-1": {"", "c"}} {
		for i, dir := range []string{from, to} {
			if content[i] == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content[i]), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	out, err := exec.Command("sh", "-c", compareNamed, to, from).Output()
	if err != nil || string(out) != "./other\n" {
		t.Errorf("%q, %v", out, err)
	}
}
