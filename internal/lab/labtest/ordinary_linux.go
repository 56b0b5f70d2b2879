package labtest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"linerate/internal/kernel"
)

// nobody is the user without rights on every Linux (user_namespaces(7) calls it the overflow ID).
const nobody = 65534

// Ordinary tells whether the test goes on: it needs a user who may not read everything. As root it
// returns false, and has run the test again in a process of such a user, whose end is this test's.
func Ordinary(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	dir, err := os.MkdirTemp("", "linerate-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(home, 0o700), os.Chown(home, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "test")
	Program(t, exe, bytes.NewReader(self))
	cmd := kernel.Exec(t.Context(), exe, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v")
	cmd.Env, cmd.Dir = append(os.Environ(), "HOME="+home, "TMPDIR="+home), home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("as user %d: %v: %s", nobody, err, out)
	}
	return false
}
