//go:build unix

package scratch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const dirEnv = "LINERATE_TEST_SCRATCH"

// TestMain makes the test binary a load that waits until it is killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(dirEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	d, _, err := Make(dir, "load")
	if err == nil {
		err = os.WriteFile(filepath.Join(d.Path, "data"), []byte("x"), 0o600)
	}
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(d.Path)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or its test is gone
	_ = d.Remove()
}

// startLoad starts a load in a process of its own, and returns its directory once it is there.
func startLoad(t *testing.T, dir string) (kill func(), path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), dirEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		_, err = cmd.StdinPipe()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed, and says so
	}
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the load said nothing")
	}
	return kill, lines.Text()
}

func TestNextStartRemovesWhatAKilledLoadLeft(t *testing.T) {
	dir := t.TempDir()
	kill, dead := startLoad(t, dir)
	_, alive := startLoad(t, dir)
	kill()
	others := filepath.Join(dir, "linerate-load-ours") // a user's own, which looks alike
	victim := t.TempDir()
	mine, err := nameOf("load")
	if err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, mine+"planted") // its lock leads elsewhere
	for _, err := range []error{os.Mkdir(others, 0o700), os.Mkdir(linked, 0o700), os.Symlink(filepath.Join(victim, "new"), filepath.Join(linked, lockName)),
		os.Symlink(victim, filepath.Join(dir, mine+"link"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	d, left, err := Make(dir, "load")
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("what the killed one left is there: %v", err)
	}
	for _, path := range []string{alive + "/data", d.Path, others, linked, victim} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(victim, "new")); !os.IsNotExist(err) {
		t.Errorf("a link was followed: %v", err)
	}
	if err := d.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.Path); !os.IsNotExist(err) {
		t.Errorf("removed: %v", err)
	}
}
