package cli

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/host"
	"linerate/internal/lab"
	"linerate/internal/lab/labtest"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// sshInLab starts a real sshd in server1, with configuration and keys of its
// own, and returns the ssh command that reaches it from client1.
func sshInLab(t testing.TB, l *lab.Lab) []string {
	t.Helper()
	labtest.Needs(t, "sshd", "ssh", "ssh-keygen")
	if err := os.Mkdir("/run/sshd", 0o755); err == nil { // sshd will not start without
		t.Cleanup(func() { _ = os.Remove("/run/sshd") }) // another test may use it by now
	}
	dir, addr := t.TempDir(), l.Addr("server1").String()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"host_key", "user_key"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	pub, err := os.ReadFile(filepath.Join(dir, "host_key.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write("known_hosts", addr+" "+string(pub))
	write("sshd_config", fmt.Sprintf("ListenAddress %s\nHostKey %[2]s/host_key\nAuthorizedKeysFile %[2]s/user_key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nSetEnv TMPDIR=%[2]s %[3]s=1\n", addr, dir, asProgram))
	write("ssh_config", fmt.Sprintf("Host *\n  User root\n  IdentityFile %[1]s/user_key\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %[1]s/known_hosts\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  %[2]s\n", dir, labtest.KeyExchange))
	serveSSH(t, append(l.Enter("server1"), "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "sshd_config")))
	return append(l.Enter("client1"), "/usr/bin/ssh", "-F", filepath.Join(dir, "ssh_config"))
}

// serveSSH runs sshd and returns once it listens.
func serveSSH(t testing.TB, argv []string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed, by design
	})
	listening := make(chan string, 1)
	go func() {
		var said bytes.Buffer
		b := make([]byte, 4096)
		for {
			n, err := stderr.Read(b)
			said.Write(b[:n])
			if strings.Contains(said.String(), "Server listening") || err != nil {
				listening <- said.String()
				break
			}
		}
		for { // keep the pipe empty
			if _, err := stderr.Read(b); err != nil {
				return
			}
		}
	}()
	select {
	case said := <-listening:
		if !strings.Contains(said, "Server listening") {
			t.Fatalf("sshd: %s", said)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("sshd does not listen after 20 s")
	}
}

// One end is reached by the system's ssh over the emulated link, the other by
// entering its namespaces; the loop knows no difference.
func TestTheLoopRunsOverARealSSH(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	needRoot(t)
	labtest.Tries(t, 3, func(t testing.TB) {
		l := bareLab(t, "window")
		ssh := host.Ssh{Command: sshInLab(t, l), Binary: func(string, string) (string, error) { return os.Executable() }}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		name, err := host.ParseName(l.Addr("server1").String())
		if err != nil {
			t.Fatal(err)
		}
		far, err := ssh.Reach(ctx, name, []netip.Addr{l.Addr("server1")})
		if err != nil {
			t.Fatal(err)
		}
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		near := host.Endpoint{Name: "client1", Argv: l.Enter("client1"), Self: []string{exe}, StateDir: l.StateDir("client1")}
		var ends []loop.End
		var behind *host.Client // ssh
		for _, ep := range []host.Endpoint{near, far} {
			c, err := host.Dial(ctx, ep, host.Options{Log: func(s string) { t.Log(s) }})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
			ends = append(ends, loop.End{Name: ep.Name, Agent: c})
			behind = c
		}
		ends[0].Addr, ends[1].Addr = l.Addr("client1"), l.Addr("server1")
		timing := loop.DefaultTiming()
		timing.Diagnosis = 3 * time.Second
		pass := loop.Loop{
			Sender: ends[0], Receiver: ends[1], Workload: model.Workload{Streams: 1, CC: "cubic"},
			LineRate: model.Known(unit.Gbit), Timing: timing, Now: time.Now,
		}
		rec, err := pass.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if v := rec.Results.Verdict; v.Limiter != model.ReceiverWindow || v.Fix.Host != ends[1].Name {
			t.Errorf("named %s at %s: %s", v.Limiter, v.Fix.Host, v.Line)
		}
		if n := len(rec.Results.Runs[0].Samples[ends[1].Name]); n < 10 {
			t.Errorf("%d samples of the host behind ssh", n)
		}
		// What the audit asks for, too, is that host's own.
		files, err := behind.Files(ctx)
		if limit := files.Now["net.ipv4.tcp_rmem"]; err != nil || !strings.HasSuffix(limit, " 262144") {
			t.Errorf("behind ssh tcp_rmem is %q; %v", limit, err)
		}
	})
}
