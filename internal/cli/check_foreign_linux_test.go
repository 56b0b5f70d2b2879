package cli

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"linerate/internal/lab/labtest"
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
	cmd := program(t, h.home, args...)
	cmd.Env = append(cmd.Env, "PATH="+h.path)
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
	labtest.Needs(t, "sshd", "ssh", "ssh-keygen", "unshare")
	needRoot(t)
	dir, bin, ssh, tmp := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	if err := install(bin, fakehost(t)); err != nil {
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
	more = strings.ReplaceAll(more, "BIN", bin)
	write(filepath.Join(dir, "sshd_config"), fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %[2]s/host_key\nAuthorizedKeysFile %[2]s/user_key.pub\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nSetEnv HOME=%[3]s TMPDIR=%[3]s PATH=%[4]s:/usr/bin:/bin %[5]s\n%[6]s", port, dir, tmp, bin, strings.Join(variables, " "), more), 0o600)
	write(filepath.Join(dir, "ssh_config"), fmt.Sprintf("Host *\n  HostName 127.0.0.1\n  Port %d\n  User %[3]s\n  IdentityFile %[2]s/user_key\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile %[2]s/known_hosts\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  %[4]s\n", port, dir, me.Username, labtest.KeyExchange), 0o600)
	write(filepath.Join(ssh, "ssh"), "#!/bin/sh\nexec /usr/bin/ssh -F "+dir+"/ssh_config \"$@\"\n", 0o700)
	// Plans keep their records below /var/lib: not in this machine's. sshd will not start without
	// /run/sshd.
	own := "mount -t tmpfs tmpfs /var/lib && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && "
	serveSSH(t, []string{"unshare", "-m", "sh", "-c", own + before + " && exec \"$@\"", "sh", "/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "sshd_config")})
	return sshHost{tmp, home(t), ssh + ":" + os.Getenv("PATH")}
}

// fakehostIsBuilt is held by the test that builds it.
var fakehostIsBuilt sync.Mutex

// fakehost is the program that a fake's commands are. It is built once, beside the one that
// scripts run, and goes with it.
func fakehost(t *testing.T) string {
	t.Helper()
	fakehostIsBuilt.Lock()
	defer fakehostIsBuilt.Unlock()
	linerate, err := exec.LookPath("linerate")
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(filepath.Dir(linerate), "fakehost")
	if _, err := os.Stat(exe); err == nil {
		return exe
	}
	own := exe + "." + rand.Text() // other processes may build theirs at the same time
	build(t, own, "./testdata/fakehost")
	if err := os.Rename(own, exe); err != nil {
		t.Fatal(err)
	}
	return exe
}

// A host on which this build does not run is read by its system's own commands, over a real
// ssh; nothing is left there.
func TestCheckReadsAnIllumosHostOverSSH(t *testing.T) {
	t.Parallel()
	h := foreignHost(t, "sync=disabled")
	code, out, errs := h.run(t, "check", "omnios", "--line-rate", "10Gbit", "--rtt", "1ms")
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
	leftNothing(t, h.tmp)
}

func hasAll(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in: %s", want, text)
		}
	}
}

// A host on which linerate does not run is changed by a script, over a real ssh, and is as it was
// after undo.
func TestTuneChangesAnIllumosHostOverSSH(t *testing.T) {
	t.Parallel()
	h := foreignHost(t, "")
	run := func(want int, args ...string) string { t.Helper(); return h.ran(t, want, args...) }
	has := func(text string, all ...string) { t.Helper(); hasAll(t, text, all...) }
	path := []string{"--profile", "zfs-filer", "--rtt", "1ms", "--line-rate", "10Gbit"}
	plan := run(0, append([]string{"tune", "plan", "omnios"}, path...)...)
	has(plan, "illumos.ipadm.tcp.max_buf", "1048576 → 2500000", "illumos.ipadm.tcp.send_buf", "49152 → 1875000")
	if strings.Contains(plan, "linux.") || strings.Contains(plan, "tcp_rmem") {
		t.Errorf("settings of Linux: %s", plan)
	}
	has(run(0, append([]string{"tune", "script", "omnios"}, path...)...), "#!/bin/sh", "ipadm set-prop -t -p send_buf=", "originals stand here")
	has(run(0, append([]string{"tune", "apply", "omnios"}, path...)...), "applied: yes", "tune undo omnios")
	has(run(0, "check", "omnios"), "never on a real illumos host")
	has(run(0, "tune", "history", "omnios"), "illumos.ipadm.tcp.send_buf: 1875000 (original 49152, wanted 1875000): changed by this plan")
	has(run(0, append([]string{"tune", "plan", "omnios"}, path...)...), "No change")
	has(run(0, "tune", "undo", "omnios"), "illumos.ipadm.tcp.send_buf: 1875000 -> 49152 again")
	has(run(0, "tune", "undo", "omnios"), "nothing of plan")
	has(run(0, append([]string{"tune", "plan", "omnios"}, path...)...), "49152 → 1875000")
	has(run(0, "tune", "apply", "omnios", "--set", "any.zfs.atime@tank/media=off", "--confirm-within", "2m"), "undone by itself in 2 minutes", "tune confirm omnios")
	has(run(0, "tune", "confirm", "omnios"), "1 of its changes are in force")
	has(run(0, "tune", "undo", "omnios"), "any.zfs.atime@zfs:tank/media: off -> inherit:on again")
	has(run(1, "tune", "apply", "omnios", "--set", "illumos.ipadm.tcp.send_buf=2000000"), "is out of range", "put back")
	has(run(2, "tune", "apply", "omnios", "--set", "illumos.ipadm.tcp.send_buf=1;reboot"), "want a number")
	has(run(2, "tune", "plan", "omnios", "--set", "linux.sysctl.net.ipv4.tcp_mtu_probing=1"), "this host runs illumos")
	has(run(0, "tune", "apply", "omnios", "--set", "illumos.ipadm.tcp.send_buf=65536", "--persist"), "illumos.ipadm.tcp.send_buf@ipadm: unset -> 65536")
	has(run(0, "tune", "undo", "omnios"), "65536 -> unset again", "65536 -> 49152 again")
	has(run(0, append([]string{"tune", "apply", "omnios", "--confirm-within", "0"}, sets("illumos.dladm.mtu@igb0=9000", "illumos.sharectl.nfs.servers=2048", "illumos.sharectl.nfs.lockd_servers=512",
		"illumos.ipadm.tcp._naglim_def=1", "illumos.ipadm.tcp._deferred_acks_max=8")...)...), "applied: yes")
	has(run(0, "tune", "undo", "omnios"), "9000 -> 1500 again", "2048 -> 1024 again", "512 -> 256 again", "1 -> 4095 again")
	has(run(1, "tune", "apply", "omnios", "--set", "illumos.dladm.mtu@ixgbe0=9000"), "link busy", "put back")
	has(run(0, "tune", "script", "omnios", "--set", "illumos.system.zfs.l2arc_noprefetch=0", "--set", "illumos.driver.ixgbe.intr_throttling=0"), "/etc/system", "/kernel/drv/ixgbe.conf")
	has(run(2, "tune", "plan", "omnios", "--set", "illumos.system.sd.sd_io_time=8;9"), "want a number")
	leftNothing(t, h.tmp)
}
