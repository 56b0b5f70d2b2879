package foreign

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/lab/buildtest"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/sshtest"
	"linerate/internal/systems/fake"
)

// sshHost is a host behind a real sshd.
type sshHost struct {
	tmp  string // its directory for what does not last
	home string // of who calls linerate here
	path string // of programs here: the ssh in it reaches the host by any name
}

// run is what a command says, of somebody who reaches the host.
func (h sshHost) run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	cmd := exec.Command("linerate", args...)
	cmd.Env = append(os.Environ(), "HOME="+h.home, "XDG_DATA_HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "PATH="+h.path)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var ee *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// ran is what a command that ends so says, in one line.
func (h sshHost) ran(t *testing.T, want int, args ...string) string {
	t.Helper()
	code, out, errs := h.run(t, args...)
	if code != want {
		t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
	}
	return strings.Join(strings.Fields(out+errs), " ")
}

// foreignHost is an illumos host behind a real sshd.
func foreignHost(t *testing.T, set string) sshHost {
	t.Helper()
	return foreignHostOf(t, "illumos", set, "", ":")
}

// foreignHostOf is that of a system; more are lines of sshd's configuration, and before is what
// the shell that starts sshd, in a mount namespace of its own, does first.
func foreignHostOf(t *testing.T, system, set, more, before string) sshHost {
	t.Helper()
	return hostBehindSSHD(t, fake.Install, more, before, fake.Set+"="+set, fake.State+"="+t.TempDir(), fake.OS+"="+system)
}

// hostBehindSSHD starts a real sshd whose sessions find a fake's programs first, with variables
// such as "NAME=value". In more, BIN is the directory of the programs.
func hostBehindSSHD(t *testing.T, install func(dir, exe string) error, more, before string, variables ...string) sshHost {
	t.Helper()
	labtest.Needs(t, labtest.Root, labtest.Namespaces, "sshd", "ssh", "ssh-keygen", "unshare", "mount")
	dir, bin, ssh, tmp := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	exe := fakehost(t)
	// The sudo of this machine would leave the fake.
	if err := errors.Join(install(bin, exe), os.Symlink(exe, filepath.Join(bin, "sync")), os.Symlink(exe, filepath.Join(bin, "sudo"))); err != nil {
		t.Fatal(err)
	}
	config := sshtest.Server{
		// Plans keep their records below /var/lib: not in this machine's.
		Dir: dir, Apart: "mount -t tmpfs tmpfs /var/lib && " + before,
		Env:  "HOME=" + tmp + " TMPDIR=" + tmp + " PATH=" + bin + ":/usr/bin:/bin " + strings.Join(variables, " "),
		More: strings.ReplaceAll(more, "BIN", bin),
	}.Start(t)
	labtest.Program(t, filepath.Join(ssh, "ssh"), strings.NewReader("#!/bin/sh\nexec /usr/bin/ssh -F "+config+" \"$@\"\n"))
	return sshHost{tmp, t.TempDir(), ssh + ":" + os.Getenv("PATH")}
}

// built is the program that a fake's commands are.
var built buildtest.Once

func fakehost(t *testing.T) string {
	t.Helper()
	return built.Program(t, "fakehost", "./testdata/fakehost")
}

// sets are values of --set.
func sets(values ...string) []string {
	var out []string
	for _, v := range values {
		out = append(out, "--set", v)
	}
	return out
}

func leftNothing(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func hasAll(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in: %s", want, text)
		}
	}
}
