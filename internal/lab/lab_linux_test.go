package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/unit"
)

// needRights skips where a lab cannot be built at all.
func needRights(t *testing.T) {
	t.Helper()
	need, err := NeedUserNS()
	if err != nil {
		t.Fatal(err)
	}
	if need {
		t.Skip("building a lab directly needs CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW; run as root")
	}
}

// traces is everything a lab could leave on the machine.
func traces(t *testing.T, state string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	nics, err := kernel.InterfaceNames()
	if err != nil {
		t.Fatal(err)
	}
	out["interfaces"] = nics
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	out["mounts"] = strings.Split(string(mounts), "\n")
	for _, glob := range []string{state + "/*", "/sys/fs/cgroup/*/" + cgroupPrefix + "lab-" + strconv.Itoa(os.Getpid()) + "-*"} {
		found, err := filepath.Glob(glob)
		if err != nil {
			t.Fatal(err)
		}
		out["files"] = append(out["files"], found...)
	}
	out["processes"] = helpersOf(t, "lab-"+strconv.Itoa(os.Getpid())+"-")
	return out
}

// helpersOf lists the processes of labs whose id starts with prefix.
func helpersOf(t *testing.T, prefix string) []string {
	t.Helper()
	pids, err := kernel.Processes("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, pid := range pids {
		env, err := kernel.ProcessEnv("/proc", pid)
		if err != nil {
			continue // it has ended
		}
		if slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, labEnv+"="+prefix) }) {
			found = append(found, strconv.Itoa(pid))
		}
	}
	return found
}

func sameTraces(t *testing.T, before, after map[string][]string) {
	t.Helper()
	for kind := range before {
		if !slices.Equal(before[kind], after[kind]) {
			t.Errorf("%s: %q before, %q after", kind, before[kind], after[kind])
		}
	}
}

func upLab(t *testing.T, topo Topology) *Lab {
	t.Helper()
	needRights(t)
	l, err := Up(context.Background(), topo, selfOptions(filepath.Join(t.TempDir(), "state")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, s := range l.LeftOut() {
		t.Log("left out:", s)
	}
	return l
}

func TestUpDownLeavesNothing(t *testing.T) {
	needRights(t)
	ctx := context.Background()
	state := filepath.Join(t.TempDir(), "state")
	before := traces(t, state)
	for range 2 {
		for _, f := range []string{"none", "offload", "cpu"} {
			fault, err := FindFault(f)
			if err != nil {
				t.Fatal(err)
			}
			l, err := Up(ctx, fault.Topology(DefaultTopology()), selfOptions(state))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Inject(ctx, fault); err != nil {
				t.Error(err)
			}
			left := kernel.Exec(ctx, append(l.Enter("server1"), "sleep", "1000")...)
			if err := left.Start(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := l.Down(ctx); err != nil {
					t.Error(err)
				}
			}
			if err := left.Wait(); err == nil {
				t.Error("a process outlived its lab")
			}
			if err := l.Inject(ctx, fault); err == nil {
				t.Error("a fault could be injected into a lab that is down")
			}
		}
	}
	sameTraces(t, before, traces(t, state))
}

func TestEveryStepsFailureLeavesNothing(t *testing.T) {
	needRights(t)
	state := filepath.Join(t.TempDir(), "state")
	before := traces(t, state)
	offload, err := FindFault("offload")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken on purpose")
	for _, topo := range []Topology{DefaultTopology(), offload.Topology(DefaultTopology())} {
		for _, s := range (&Lab{topo: topo}).steps() {
			o := selfOptions(state)
			o.afterStep = func(name string) error {
				if name == s.name {
					return broken
				}
				return nil
			}
			if _, err := Up(context.Background(), topo, o); !errors.Is(err, broken) || !strings.Contains(err.Error(), s.name) {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
	o := selfOptions(state)
	o.Self = []string{"/nonexistent"}
	if _, err := Up(context.Background(), DefaultTopology(), o); err == nil {
		t.Error("a lab was built without a binary")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Up(ctx, DefaultTopology(), selfOptions(state)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	sameTraces(t, before, traces(t, state))
}

func TestSweepAfterKill(t *testing.T) {
	needRights(t)
	ctx := context.Background()
	state := filepath.Join(t.TempDir(), "state")
	living, err := Up(ctx, DefaultTopology(), selfOptions(state))
	if err != nil {
		t.Fatal(err)
	}
	cmd := kernel.Exec(ctx, "/proc/self/exe", "lab-test-owner", state)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	id, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	id = strings.TrimSpace(id)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	removed, err := Sweep(ctx, Options{StateDir: state})
	if err != nil || !slices.Contains(removed, id) || slices.Contains(removed, living.id) {
		t.Errorf("removed %q, %v; want %q only", removed, err, id)
	}
	if left := helpersOf(t, id); len(left) > 0 {
		t.Errorf("processes %q of %s are left", left, id)
	}
	groups, err := filepath.Glob("/sys/fs/cgroup/*/" + cgroupPrefix + id + "*")
	if err != nil || len(groups) > 0 {
		t.Errorf("cgroups %q, %v", groups, err)
	}
	if entries, err := os.ReadDir(state); err != nil || len(entries) != 1 || entries[0].Name() != living.id {
		t.Errorf("state has %v, %v; want the living lab", entries, err)
	}
	if _, _, err := living.LinkStats(ctx); err != nil {
		t.Errorf("the living lab: %v", err)
	}
	if err := living.Down(ctx); err != nil {
		t.Error(err)
	}
}

func TestHostSeesItself(t *testing.T) {
	l := upLab(t, DefaultTopology())
	for i, name := range []string{"client1", "server1"} {
		cmd := kernel.Exec(context.Background(), append(l.Enter(name), "/proc/self/exe", "lab-test-seen")...)
		cmd.Stderr = os.Stderr
		b, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Host, Env, WD string
			NICs          []string
			CPUs          []int
		}
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		wd, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		if got.Host != name || got.Env != name || got.WD != wd || !slices.Equal(got.NICs, []string{"eth0", "lo"}) || !slices.Equal(got.CPUs, l.hosts[i].cpus) {
			t.Errorf("%s sees %+v", name, got)
		}
	}
	if l.Enter("nobody") != nil || l.Addr("nobody").IsValid() {
		t.Error("an unknown host can be entered")
	}
}

func TestRoundTripTime(t *testing.T) {
	l := upLab(t, DefaultTopology())
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	to := l.Addr("server1").String()
	srv := kernel.Exec(ctx, append(l.Enter("server1"), "/proc/self/exe", "lab-test-echo", to)...)
	out, err := srv.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	b, err := kernel.Exec(ctx, append(l.Enter("client1"), "/proc/self/exe", "lab-test-ping", to)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Wait(); err != nil {
		t.Error(err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	// Never less than stated; the least of 20 is close to it even on a busy machine.
	rtt := time.Duration(ns)
	t.Log("least RTT", rtt)
	if rtt < 10*time.Millisecond || rtt > 13*time.Millisecond {
		t.Errorf("RTT %s, want 10ms and little more", rtt)
	}
}

// TestFaultsBind checks what does not hang on this machine's speed: what a
// fault caps, it caps, and the link counts what it did.
func TestFaultsBind(t *testing.T) {
	for _, c := range []struct {
		fault string
		most  unit.BitRate // goodput while it is in place
	}{
		{"window", 300 * unit.Mbit}, {"sendbuf", 400 * unit.Mbit}, {"mtu", unit.Mbit},
		{"loss", 500 * unit.Mbit}, {"slow-link", 300 * unit.Mbit}, {"cpu", 600 * unit.Mbit}, {"none", unit.Gbit},
	} {
		t.Run(c.fault, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			f, err := FindFault(c.fault)
			if err != nil {
				t.Fatal(err)
			}
			l := upLab(t, f.Topology(DefaultTopology()))
			if err := l.Inject(ctx, f); err != nil {
				t.Fatal(err)
			}
			with, err := transfer(ctx, l, 2500*time.Millisecond, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			checkLink(t, l, f)
			if err := l.Cure(ctx, f); err != nil {
				t.Fatal(err)
			}
			without, err := transfer(ctx, l, 2500*time.Millisecond, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %s with, %s without", c.fault, with, without)
			if with > c.most {
				t.Errorf("goodput %s with the fault, want at most %s", with, c.most)
			}
		})
	}
}

func checkLink(t *testing.T, l *Lab, f Fault) {
	t.Helper()
	st, ok, err := l.LinkStats(context.Background())
	if err != nil || !ok || st.Mode != LinkEmulator {
		t.Fatalf("link statistics: %+v %v %v", st, ok, err)
	}
	d := st.Directions[0]
	if st.RingDrops != [2]int64{} || d.Overrun+d.Malformed != 0 {
		t.Errorf("the emulator lost frames itself: %+v", st)
	}
	if (d.MTUDrops > 0) != (f.ID == "mtu") {
		t.Errorf("dropped %d for their size", d.MTUDrops)
	}
	n, p := float64(d.Segments-d.QueueDrops), 0.0
	if f.ID == "loss" {
		p = lossShare
	}
	if sd := math.Sqrt(n * p * (1 - p)); math.Abs(float64(d.Lost)-n*p) > 4*sd {
		t.Errorf("lost %d of %.0f segments, want %.1f ± %.1f", d.Lost, n, n*p, 4*sd)
	}
}

func TestOffloadFault(t *testing.T) {
	ctx := context.Background()
	f, err := FindFault("offload")
	if err != nil {
		t.Fatal(err)
	}
	l := upLab(t, f.Topology(DefaultTopology()))
	before, err := transfer(ctx, l, 1500*time.Millisecond, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Inject(ctx, f); err != nil {
		t.Fatal(err)
	}
	with, err := transfer(ctx, l, 1500*time.Millisecond, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("offloads on %s, off %s", before, with)
	if before > directRate {
		t.Errorf("%s through a link of %s", before, directRate)
	}
	if _, ok, err := l.LinkStats(ctx); ok || err != nil {
		t.Errorf("a direct link counts: %v %v", ok, err)
	}
	if slow, err := FindFault("slow-link"); err != nil || l.Inject(ctx, slow) == nil {
		t.Error("a direct link can be slowed down")
	}
}

func TestTwoLabsAtOnce(t *testing.T) {
	a, b := upLab(t, DefaultTopology()), upLab(t, DefaultTopology())
	ctx := context.Background()
	for _, l := range []*Lab{a, b} {
		if r, err := transfer(ctx, l, 500*time.Millisecond, 0); err != nil || r < unit.Mbit {
			t.Errorf("%s: %s, %v", l.id, r, err)
		}
	}
	sb, _, err := b.LinkStats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Down(ctx); err != nil {
		t.Error(err)
	}
	if r, err := transfer(ctx, b, 500*time.Millisecond, 0); err != nil || r < unit.Mbit {
		t.Errorf("after the other's end: %s, %v", r, err)
	}
	if again, _, err := b.LinkStats(ctx); err != nil || again.Directions[0].Frames <= sb.Directions[0].Frames {
		t.Errorf("the link carried nothing: %+v, %v", again, err)
	}
}

func TestHelperThatDies(t *testing.T) {
	l := upLab(t, DefaultTopology())
	if err := l.link.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, _, err := l.LinkStats(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("statistics of a dead link: %v", err)
	}
}

// TestAsUser builds the lab without any privilege: the same binary as user
// 65534, which makes its own user namespace.
func TestAsUser(t *testing.T) {
	if os.Geteuid() == 0 {
		needRights(t)
	}
	for _, fault := range []string{"none", "window", "cpu", "loss", "offload"} {
		t.Run(fault, func(t *testing.T) {
			exe, state := userFiles(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			cmd := kernel.Exec(ctx, exe, "lab-test-user", state, fault)
			cmd.Dir = "/"
			if os.Geteuid() == 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			b, err := cmd.Output()
			if err != nil {
				if why := kernel.UserNamespaceRefusal("/proc"); why != "" {
					t.Skip(why)
				}
				t.Fatalf("%v: %s", err, stderr.String())
			}
			var got struct {
				Rate    unit.BitRate `json:"rate"`
				LeftOut []string     `json:"left_out"`
			}
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatal(err)
			}
			t.Logf("%s as a user: %s; left out: %q", fault, got.Rate, got.LeftOut)
			if fault != "none" && fault != "offload" && got.Rate > 600*unit.Mbit {
				t.Errorf("goodput %s", got.Rate)
			}
			if entries, err := os.ReadDir(state); err != nil || len(entries) > 0 {
				t.Errorf("left %v, %v", entries, err)
			}
		})
	}
}

// userFiles puts the test binary and a state directory where user 65534 can
// use them.
func userFiles(t *testing.T) (exe, state string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "linerate-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	exe, state = filepath.Join(dir, "lab.test"), filepath.Join(dir, "state")
	in, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(exe, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close(), os.Chmod(dir, 0o755), os.Mkdir(state, 0o700)); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(state, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	return exe, state
}
