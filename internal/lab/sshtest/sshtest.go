// Package sshtest is a real sshd for tests, with keys, configurations and known hosts of its own.
// It reads and writes no file of the machine's ssh; as root it makes /run/sshd for as long, which
// sshd will not start without, unless it has a /run of its own.
package sshtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
)

// Server is an sshd and what its sessions have.
type Server struct {
	Dir   string   // for its files: host_key, user_key, user_key.pub, ssh_config and others
	Addr  string   // it listens on; "" is 127.0.0.1
	Port  int      // 0 is one that is free on 127.0.0.1
	Enter []string // what it is started through, such as the way into a host of a lab
	Apart string   // what sh does first in a mount namespace of its own, whose /run is its own too; "" is none
	Env   string   // of its sessions: NAME=VALUE, separated by blanks
	More  string   // lines of its configuration, each with its end
}

// Start runs the server until the test ends and returns a client's configuration, by which
// every name is that server.
func (s Server) Start(t testing.TB) (config string) {
	t.Helper()
	labtest.Needs(t, "sshd", "ssh", "ssh-keygen")
	if s.Apart != "" {
		labtest.Needs(t, labtest.Root, labtest.Namespaces, "unshare", "mount")
	} else if os.Geteuid() == 0 {
		if err := os.Mkdir("/run/sshd", 0o755); err == nil {
			t.Cleanup(func() { _ = os.Remove("/run/sshd") }) // another test may use it by now
		}
	}
	if s.Addr == "" {
		s.Addr = "127.0.0.1"
	}
	if s.Port == 0 {
		s.Port = freePort(t)
	}
	s.keys(t)
	me, err := user.Current() // the one user whom sshd can log in without being root
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "sshd_config", fmt.Sprintf(`ListenAddress %s:%d
HostKey %[3]s/host_key
AuthorizedKeysFile %[3]s/user_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
SetEnv %[4]s
%[5]s`, s.Addr, s.Port, s.Dir, s.Env, s.More))
	config = s.write(t, "ssh_config", fmt.Sprintf(`Host *
  HostName %s
  Port %d
  User %s
  IdentityFile %[4]s/user_key
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile %[4]s/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking yes
  %[5]s
`, s.Addr, s.Port, me.Username, s.Dir, labtest.KeyExchange))
	s.serve(t)
	return config
}

// keys makes those of the server and of its user, who know each other.
func (s Server) keys(t testing.TB) {
	t.Helper()
	for _, key := range []string{"host_key", "user_key"} {
		out, err := kernel.Exec(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(s.Dir, key)).CombinedOutput()
		if err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	pub, err := os.ReadFile(filepath.Join(s.Dir, "host_key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "known_hosts", fmt.Sprintf("[%s]:%d %s", s.Addr, s.Port, pub))
}

func (s Server) write(t testing.TB, name, text string) string {
	t.Helper()
	p := filepath.Join(s.Dir, name)
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func freePort(t testing.TB) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // nothing was written
	return ln.Addr().(*net.TCPAddr).Port
}

// bound is how long sshd may take until it listens; that is a failure.
const bound = 30 * time.Second

// serve runs sshd and returns once it listens. What it said is the test's when that fails.
func (s Server) serve(t testing.TB) {
	t.Helper()
	said := &heard{listens: make(chan struct{})}
	argv := s.Enter
	if s.Apart != "" {
		argv = append(slices.Clone(argv), "unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && "+s.Apart+` && exec "$@"`, "sh")
	}
	argv = append(slices.Clone(argv), "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(s.Dir, "sshd_config"))
	cmd := kernel.Exec(context.WithoutCancel(t.Context()), argv...)
	cmd.Stderr = said
	// Sessions that outlive it hold its stderr.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed, by design
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
		if t.Failed() {
			t.Logf("sshd said:\n%s", said)
		}
	})
	select {
	case <-said.listens:
	case <-ended:
		t.Fatalf("sshd has ended: %s", said)
	case <-time.After(bound):
		t.Fatalf("sshd does not listen after %v: %s", bound, said)
	}
}

// heard is what sshd has said.
type heard struct {
	mu      sync.Mutex
	text    bytes.Buffer
	once    sync.Once
	listens chan struct{} // closed when it says so
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(b)
	if strings.Contains(h.text.String(), "Server listening") {
		h.once.Do(func() { close(h.listens) })
	}
	return len(b), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}
