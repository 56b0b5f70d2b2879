package host

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/lab/sshtest"
	"linerate/internal/load"
	"linerate/internal/measure"
)

// sshd is a real OpenSSH server on loopback.
type sshd struct {
	dir    string // HOME of what runs there
	config string // of the client
	tmp    string // $TMPDIR of what runs there
}

func startSSHD(t *testing.T, setEnv ...string) *sshd {
	t.Helper()
	s := &sshd{dir: t.TempDir()}
	s.tmp = filepath.Join(s.dir, "tmp")
	if err := os.Mkdir(s.tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	env := append([]string{"HOME=" + s.dir, "TMPDIR=" + s.tmp}, setEnv...)
	s.config = sshtest.Server{Dir: s.dir, Env: strings.Join(env, " ")}.Start(t)
	if os.Getuid() != 0 {
		if out, err := exec.Command("ssh", "-F", s.config, "server1", "true").CombinedOutput(); err != nil {
			t.Skipf("user %s cannot log in by ssh, whatever the configuration (a locked account, or no shell): run as another, or as root: %s", userName(t), out)
		}
	}
	return s
}

// userName is who runs the test: the one user whom sshd can log in without
// being root.
func userName(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

func (s *sshd) ssh(t *testing.T) Ssh {
	return Ssh{
		Command: []string{"ssh", "-F", s.config},
		Binary:  func(_, _ string) (string, error) { return os.Executable() },
	}
}

// left lists what is in the host's temporary directory.
func (s *sshd) left(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(s.tmp + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (s *sshd) wantNothingLeft(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if len(s.left(t)) == 0 {
			return
		}
	}
	t.Errorf("left on the host: %v", s.left(t))
}

func TestSSH(t *testing.T) {
	s := startSSHD(t)
	name, err := ParseName(userName(t) + "@server1")
	if err != nil {
		t.Fatal(err)
	}
	ep, err := s.ssh(t).Reach(t.Context(), name, []netip.Addr{loopback})
	if err != nil {
		t.Fatal(err)
	}
	ep.StateDir = filepath.Join(s.dir, "state")
	dirs := s.left(t)
	if len(dirs) != 1 {
		t.Fatalf("copied to %v", dirs)
	}
	if info, err := os.Stat(dirs[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory of the copy: %v, %v; want mode 0700", info.Mode(), err)
	}
	said := &logged{}
	c, err := Dial(t.Context(), ep, Options{Log: said.add})
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	defer c.Close()
	local, _ := dial(t, "client1")
	w := testWorkload(500 * time.Millisecond)
	run, err := measure.Run(t.Context(), w, measure.Ends{Sender: local, Receiver: c}, measure.Options{Label: "over ssh"})
	if err != nil || run.Goodput <= 0 || len(run.Samples["server1"]) == 0 {
		t.Errorf("run: goodput %v, %d samples, %v", run.Goodput, len(run.Samples["server1"]), err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.wantNothingLeft(t)
	if _, err := os.Stat(ep.StateDir); err == nil {
		names, _ := filepath.Glob(ep.StateDir + "/*")
		t.Errorf("a session without changes left %v", names)
	}
}

// The session is cut without a word: the host cleans up by itself.
func TestSSHThatIsCut(t *testing.T) {
	s := startSSHD(t)
	ep, err := s.ssh(t).Reach(t.Context(), Name{Reach: SSH, Host: "server1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.StartWorker(t.Context(), testTask(load.Sink))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.kill(); err != nil { // ends ssh, not the agent
		t.Fatal(err)
	}
	wantGone(t, w.PID())
	s.wantNothingLeft(t)
	_, err = c.Facts(t.Context())
	wantError(t, err, "host server1: agent ended")
	wantError(t, c.Close(), "host server1: agent ended")
}

func TestSSHNeverDialled(t *testing.T) {
	s := startSSHD(t)
	ep, err := s.ssh(t).Reach(t.Context(), Name{Reach: SSH, Host: "server1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := ep.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantNothingLeft(t)
}

// The controller is killed before an agent runs: the shell that made the directory removes it.
func TestSSHWhoseControllerIsGone(t *testing.T) {
	s := startSSHD(t)
	made, _, err := s.ssh(t).log(t.Context(), Name{Reach: SSH, Host: "server1"})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.left(t)) != 1 {
		t.Errorf("made %v", s.left(t))
	}
	if err := made.stdin.Close(); err != nil { // as the kernel does for a process that was killed
		t.Fatal(err)
	}
	s.wantNothingLeft(t)
}

// A host without sha256sum and shasum has its copy read back.
func TestSSHWithoutHashTool(t *testing.T) {
	tools := t.TempDir()
	note := filepath.Join(tools, "note")
	cat := fmt.Sprintf("#!/bin/sh\necho cat with $# arguments >> %s\nexec /bin/cat \"$@\"\n", note)
	labtest.Program(t, filepath.Join(tools, "cat"), strings.NewReader(cat))
	for _, name := range []string{"sh", "chmod", "mktemp", "uname", "id", "rm"} {
		p, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(p, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := startSSHD(t, "PATH="+tools)
	ep, err := s.ssh(t).Reach(t.Context(), Name{Reach: SSH, Host: "server1"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(note); err != nil || !strings.Contains(string(b), "with 1 arguments") {
		t.Errorf("the copy was not read back: %q, %v", b, err)
	}
	c, err := Dial(t.Context(), ep, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	s.wantNothingLeft(t)
}

// Whoever sits between, or a full disk, changes the copy: it is never run.
func TestSSHRefusesAChangedCopy(t *testing.T) {
	tools := t.TempDir()
	cat := "#!/bin/sh\n/bin/cat \"$@\"\necho something more\n"
	labtest.Program(t, filepath.Join(tools, "cat"), strings.NewReader(cat))
	s := startSSHD(t, "PATH="+tools+":/usr/bin:/bin")
	_, err := s.ssh(t).Reach(t.Context(), Name{Reach: SSH, Host: "server1"}, nil)
	wantError(t, err, "server1", "check the copied binary", "its hash on the host is")
	s.wantNothingLeft(t)
}

func TestSSHThatCannotLogIn(t *testing.T) {
	s := startSSHD(t)
	if err := os.WriteFile(s.dir+"/user_key.pub", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.ssh(t).Reach(t.Context(), Name{Reach: SSH, Host: "server1"}, nil)
	wantError(t, err, "reach server1 by ssh", "Permission denied", "ssh -o BatchMode=yes")
}

func TestSSHRefusesNamesThatAreOptions(t *testing.T) {
	for _, n := range []Name{{Reach: SSH, Host: "-oProxyCommand=touch /tmp/x"}, {Reach: SSH, User: "-x", Host: "a"}, {Reach: Local, Path: "/"}, {Reach: SSH, Host: "a b"}} {
		if _, err := (Ssh{Command: []string{"false"}}).Reach(context.Background(), n, nil); err == nil || !strings.Contains(err.Error(), "not a host for ssh") {
			t.Errorf("%+v: %v", n, err)
		}
	}
}

// The script that runs the agent is tried with stand-ins for sudo and id.
func TestRunScript(t *testing.T) {
	for name, tt := range map[string]struct{ uid, sudo, want string }{
		"root":                   {"0", "exit 1", "plain agent --deployed /my state"},
		"a user whom sudo asks":  {"1000", "exit 1", "plain agent --deployed /my state"},
		"a user who may do sudo": {"1000", `test "$*" = "-n true" && exit; shift; AS=sudo exec "$@"`, "sudo agent --deployed /my state"},
	} {
		t.Run(name, func(t *testing.T) {
			tools, dir := t.TempDir(), filepath.Join(t.TempDir(), "linerate.aB3dE6gH9j")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				tools + "/id": "echo " + tt.uid, tools + "/sudo": tt.sudo,
				dir + "/linerate": `echo "${AS:-plain} $*"; exit 7`,
			} {
				labtest.Program(t, file, strings.NewReader("#!/bin/sh\n"+text+"\n"))
			}
			cmd := exec.Command("sh", "-c", `word=run; n="/my state"; d=$0; `+runScript, dir)
			cmd.Env = []string{"PATH=" + tools + ":/usr/bin:/bin"}
			out, err := cmd.Output()
			if got := strings.TrimSpace(string(out)); got != tt.want || cmd.ProcessState.ExitCode() != 7 {
				t.Errorf("%q, %v; want %q and exit status 7", got, err, tt.want)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the copy is still there: %v", err)
			}
		})
	}
}
