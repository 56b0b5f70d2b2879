package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/systems/fake"
)

// foreignHost starts a real sshd whose sessions find the fake's programs first, and puts an ssh
// that reaches it by any name first into this process's PATH.
func foreignHost(t *testing.T, set string) (tmp string) {
	t.Helper()
	labtest.Needs(t, "sshd", "ssh", "ssh-keygen")
	needRoot(t)
	if err := os.Mkdir("/run/sshd", 0o755); err == nil { // sshd will not start without
		t.Cleanup(func() { _ = os.Remove("/run/sshd") }) // another test may use it by now
	}
	dir, bin, ssh := t.TempDir(), t.TempDir(), t.TempDir()
	tmp = t.TempDir()
	exe, err := os.Executable()
	if err == nil {
		err = fake.Install(bin, exe)
	}
	if err != nil {
		t.Fatal(err)
	}
	write := func(file, text string, mode os.FileMode) {
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
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
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "known_hosts"), fmt.Sprintf("[127.0.0.1]:%d %s", port, pub), 0o600)
	write(filepath.Join(dir, "sshd_config"), fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %[2]s/host_key\nAuthorizedKeysFile %[2]s/user_key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nSetEnv HOME=%[3]s TMPDIR=%[3]s PATH=%[4]s:/usr/bin:/bin %[5]s=%[6]s\n", port, dir, tmp, bin, fake.Set, set), 0o600)
	write(filepath.Join(dir, "ssh_config"), fmt.Sprintf("Host *\n  HostName 127.0.0.1\n  Port %d\n  User %[3]s\n  IdentityFile %[2]s/user_key\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %[2]s/known_hosts\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n", port, dir, me.Username), 0o600)
	write(filepath.Join(ssh, "ssh"), "#!/bin/sh\nexec /usr/bin/ssh -F "+dir+"/ssh_config \"$@\"\n", 0o700)
	t.Setenv("PATH", ssh+":"+os.Getenv("PATH"))
	serveSSH(t, []string{"/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "sshd_config")})
	return tmp
}

// A host on which this build does not run is read by its system's own commands, over a real
// ssh; nothing is left there.
func TestCheckReadsAnIllumosHostOverSSH(t *testing.T) {
	tmp := foreignHost(t, "sync=disabled")
	code, out, errs := runHere("check", "omnios", "--line-rate", "10Gbit", "--rtt", "1ms")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	text := strings.Join(strings.Fields(out), " ")
	for _, want := range []string{
		"send_buf = 49152: 393 Mbit/s at 1ms for a program", "any.zfs.sync = disabled", "[fixed-socket-buffer]", "[guide-disagrees]",
		"never on a real illumos host", "illumos 5.11 omnios-r151054-0, 1 CPUs, ixgbe0 10 Gbit/s MTU 1500",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
