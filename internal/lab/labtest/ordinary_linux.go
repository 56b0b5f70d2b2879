package labtest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
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
	out, err := asNobody(home, exe, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v")
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("as user %d: %v: %s", nobody, err, out)
	}
	return false
}

// asNobody runs a program as nobody, at home, and returns what it printed. (Tests of kernel use
// this package, so that it starts processes by itself.)
func asNobody(home string, argv ...string) ([]byte, error) {
	out, err := os.Create(filepath.Join(filepath.Dir(home), "out"))
	if err != nil {
		return nil, err
	}
	defer out.Close() // read by its name
	// If a variable is set twice, a process gets the first value.
	env := append([]string{"HOME=" + home, "TMPDIR=" + home}, os.Environ()...)
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: home, Env: env,
		Files: []*os.File{nil, out, out}, Sys: &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}})
	if err != nil {
		return nil, err
	}
	state, err := p.Wait()
	if err == nil && !state.Success() {
		err = errors.New(state.String())
	}
	said, rerr := os.ReadFile(out.Name())
	return said, errors.Join(err, rerr)
}
