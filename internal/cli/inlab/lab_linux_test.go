package inlab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/topology"
)

// labUser runs the program as root or as an ordinary user.
type labUser struct {
	dir string
	uid int
	exe string
}

func newLabUser(t testing.TB, uid int) labUser {
	t.Helper()
	u := labUser{t.TempDir(), uid, selfPath()}
	if uid != 0 {
		needRoot(t)
		u.exe = filepath.Join(t.TempDir(), "linerate") // where that user may read it
		b, err := os.ReadFile(selfPath())
		if err != nil {
			t.Fatal(err)
		}
		labtest.Program(t, u.exe, bytes.NewReader(b))
		if err := os.Chmod(filepath.Dir(u.exe), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, d := range []string{filepath.Dir(u.dir), u.dir} { // of the test, and above
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chown(u.dir, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if _, err := u.try("lab", "down", "--all"); err != nil && !strings.Contains(err.Error(), "no lab is up") {
			t.Error(err)
		}
	})
	return u
}

func (u labUser) command(args ...string) *exec.Cmd {
	cmd := exec.Command(u.exe, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "XDG_RUNTIME_DIR="+u.dir, "HOME="+u.dir, "XDG_DATA_HOME="+u.dir, "GORACE="+raceExit)
	cmd.Dir = "/"
	if u.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.uid)}}
	}
	return cmd
}

func (u labUser) try(args ...string) (string, error) {
	cmd := u.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("linerate %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

func (u labUser) run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := u.try(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (u labUser) status(t testing.TB, name string) lab.Status {
	t.Helper()
	var doc struct{ Labs []lab.Status }
	if err := json.Unmarshal([]byte(u.run(t, "lab", "status", "--name", name, "--json")), &doc); err != nil || len(doc.Labs) != 1 {
		t.Fatalf("status: %d labs, %v", len(doc.Labs), err)
	}
	return doc.Labs[0]
}

// Every topology comes up as it is described, carries data between its flow's
// hosts at the MTU asked for, has nothing wrong in it, and goes without a trace; one
// of them twice.
func TestTopologiesConform(t *testing.T) {
	needRoot(t)
	all, err := topology.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	u := newLabUser(t, 0)
	before := look(t, u.dir)
	for _, topo := range slices.Concat(all, all[:1]) {
		t.Run(topo.Name, func(t *testing.T) {
			if slices.ContainsFunc(topo.Hosts, func(h topology.Host) bool { return len(h.Disks) > 0 }) {
				labtest.Needs(t, "mount")
			}
			u.run(t, "lab", "up", topo.Name)
			s := u.status(t, topo.Name)
			checkConforms(t, u, topo.Scaled(false), s)
			healthyHosts(t, u, topo)
			u.run(t, "lab", "down", "--name", topo.Name)
		})
	}
	wantNothingNew(t, before, u.dir)
}

func checkConforms(t testing.TB, u labUser, topo topology.Topology, s lab.Status) {
	t.Helper()
	if len(s.Hosts) != len(topo.Hosts) || len(s.Links) != len(topo.Links) {
		t.Fatalf("%s: %d hosts and %d links, want %d and %d", topo.Name, len(s.Hosts), len(s.Links), len(topo.Hosts), len(topo.Links))
	}
	for _, h := range topo.Hosts {
		for _, i := range h.Interfaces {
			got := u.run(t, "lab", "exec", "--name", topo.Name, h.Name, "--", "cat", "/sys/class/net/"+i.Name+"/mtu", "/proc/sys/kernel/hostname")
			if want := fmt.Sprintf("%d\n%s\n", i.MTU, h.Name); got != want {
				t.Errorf("%s: %s.%s: MTU and host name %q, want %q", topo.Name, h.Name, i.Name, got, want)
			}
		}
	}
	f := topo.Flow
	to, _ := topo.Interface(f.Receiver, f.Via)
	for _, from := range f.Senders {
		rate, err := exchange(u, topo.Name, from, f.Receiver, to.Addr.Addr().String())
		most, _, _ := topo.Ceiling(from, f.Receiver, f.Via)
		if err != nil || rate <= 0 || rate > 1.02*float64(most) {
			t.Errorf("%s: %s to %s: %.3g bit/s over a path of %s, %v", topo.Name, from, f.Receiver, rate, most, err)
		}
	}
}

// exchange copies a few megabytes between two hosts and returns the goodput.
func exchange(u labUser, name, from, to, addr string) (bits float64, err error) {
	sink := u.command("lab", "exec", "--name", name, to, "--", selfPath())
	sink.Env = append(sink.Env, copyRole+"=count "+addr+":7007")
	out, err := sink.StdoutPipe()
	if err != nil {
		return 0, err
	}
	sink.Stderr = os.Stderr
	if err := sink.Start(); err != nil {
		return 0, err
	}
	var ready string
	if _, err := fmt.Fscanln(out, &ready); err != nil || ready != "ready" {
		return 0, fmt.Errorf("sink: %q %w", ready, err)
	}
	source := u.command("lab", "exec", "--name", name, from, "--", selfPath())
	source.Env = append(source.Env, copyRole+"=burst "+addr+":7007")
	if b, err := source.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("source: %w: %s", err, b)
	}
	var bytes, seconds float64
	if _, err := fmt.Fscan(out, &bytes, &seconds); err != nil {
		return 0, fmt.Errorf("sink: %w", err)
	}
	if err := sink.Wait(); err != nil {
		return 0, err
	}
	if bytes != burstBytes {
		return 0, fmt.Errorf("%.0f bytes arrived of %d", bytes, burstBytes)
	}
	return bytes * 8 / seconds, nil
}

func selfPath() string {
	exe, err := os.Executable()
	if err != nil {
		return "/proc/self/exe"
	}
	return exe
}

// A keeper that is killed takes its hosts along; the next command clears the
// rest, whoever the user is.
func TestKeeperThatIsKilled(t *testing.T) {
	needRoot(t)
	for _, uid := range []int{0, 65534} {
		u := newLabUser(t, uid)
		before := look(t, u.dir)
		u.run(t, "lab", "up", "cluster")
		id := u.status(t, "cluster").ID
		var pid int
		var rest string
		if _, err := fmt.Sscanf(id, "lab-%d-%s", &pid, &rest); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		awaitEnd(t, pid)
		if _, err := u.try("lab", "down"); err == nil || !strings.Contains(err.Error(), "no lab is up") {
			t.Errorf("uid %d: down after a kill: %v", uid, err)
		}
		wantNothingNew(t, before, u.dir)
		u.run(t, "lab", "up", "cluster")
		u.run(t, "lab", "down")
	}
}

// awaitEnd returns once a process that was killed is no more.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if _, err := os.Readlink(exe); err != nil {
			return
		}
	}
	t.Fatalf("process %d lives a minute after it was killed", pid)
}

// An ordinary user's commands run inside through the keeper, with their own
// streams, exit code and signals.
func TestExecAsAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	u := newLabUser(t, 65534)
	u.run(t, "lab", "up", "back-to-back")
	cmd := u.command("lab", "exec", "server1", "--", "cat")
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	cmd.Stdin = bytes.NewReader(big)
	out, err := cmd.Output()
	if err != nil || !bytes.Equal(out, big) {
		t.Errorf("%d bytes came back of %d, %v", len(out), len(big), err)
	}
	if _, err := u.try("lab", "exec", "server1", "--", "sh", "-c", "kill -TERM $$"); err == nil || !strings.Contains(err.Error(), "exit status 143") {
		t.Errorf("a command that a signal ended: %v", err)
	}
	if _, err := u.try("lab", "exec", "server1", "--", "nosuchcommand"); err == nil {
		t.Error("a command that is not there ran")
	}
}

// Data goes over the router only where it has to.
func TestRoutedPath(t *testing.T) {
	t.Parallel()
	needRoot(t)
	u := newLabUser(t, 0)
	u.run(t, "lab", "up", "dual-homed")
	rate, err := exchange(u, "dual-homed", "client1", "nas1", "10.30.2.20")
	if err != nil || rate > 105e6 {
		t.Errorf("over the router: %.3g bit/s, %v", rate, err)
	}
	for _, l := range u.status(t, "dual-homed").Links {
		if l.ID == "router1.eth1-nas1" && l.Counts[0].WireBytes < burstBytes {
			t.Errorf("%d bytes over the router's link", l.Counts[0].WireBytes)
		}
		if l.ID == "client1.eth1-jumbo" && l.Counts[0].WireBytes > 1e6 {
			t.Errorf("%d bytes over the other network", l.Counts[0].WireBytes)
		}
	}
}
