package script

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/lab/labtest"
)

// A host that has nothing of the way to the records gets it as it is elsewhere: open to all, but for the records.
func TestWhatLiesAboveTheRecordsIsForEverybody(t *testing.T) {
	t.Parallel()
	b := newBoxOf(t, fakehost(t), "freebsd", []string{"sh"}, false, changes("freebsd")[3:4], func(Step) bool { return true })
	text, err := os.ReadFile(b.file)
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.ReplaceAll(string(text), b.dir+"/plans", b.dir+"/var/lib/linerate/plans")
	if err := os.WriteFile(b.file, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := b.run(nil, "apply"); code != 0 {
		t.Fatal(out)
	}
	for dir, want := range map[string]os.FileMode{"var": 0o755, "var/lib": 0o755, "var/lib/linerate": 0o700, "var/lib/linerate/plans": 0o700} {
		info, err := os.Stat(filepath.Join(b.dir, dir))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", dir, info.Mode(), err, want)
		}
	}
}

// Where a directory above the records is closed to a user, what lies there is not known.
func TestAClosedDirectoryIsNotNone(t *testing.T) {
	t.Parallel()
	labtest.Needs(t, labtest.Root)
	top, err := os.MkdirTemp("/tmp", "linerate") // those above a test's own directory may be closed too
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(top); err != nil {
			t.Error(err)
		}
	})
	closed, open := filepath.Join(top, "closed"), filepath.Join(top, "open")
	if err := errors.Join(os.Chmod(top, 0o755), os.Mkdir(closed, 0o700), os.Mkdir(open, 0o700), os.Chmod(open, 0o755)); err != nil {
		t.Fatal(err)
	}
	k, _ := Find("freebsd")
	for state, want := range map[string]int{closed: Unprivileged, open: 0} {
		text, err := k.System().OnPlans(state+"/linerate/plans", "", "status")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh")
		cmd.Stdin, cmd.Dir = strings.NewReader(text), "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if _, code, err := Outcome(out); err != nil || code != want {
			t.Errorf("%s: %d, %v, want %d: %s", state, code, err, want, out)
		}
	}
}
