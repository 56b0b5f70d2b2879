package experiment

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"linerate/internal/host"
	"linerate/internal/lab/labtest"
	"linerate/internal/load/worker"
	"linerate/internal/model"
	"linerate/internal/store"
	"linerate/internal/study/drive"
)

// TestMain makes the test binary a linerate with the roles agent and worker.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || !slices.Contains([]string{"agent", "worker", host.WatchRole}, os.Args[1]) {
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil { // agents end often
			panic(err)
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := role(ctx, os.Args[1], os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func role(ctx context.Context, name string, args []string) error {
	if name == "worker" {
		return worker.Main(ctx, os.Stdin, os.Stdout)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if name == host.WatchRole {
		return host.WatchMain(ctx, args, os.Stdout, host.AgentOptions{Self: []string{self}, Build: "test", Log: os.Stderr, Now: time.Now})
	}
	dir, _, err := host.ParseAgentArgs(args)
	if err != nil {
		return err
	}
	return host.AgentMain(ctx, os.Stdin, os.Stdout, host.AgentOptions{StateDir: dir, Self: []string{self}, Build: "test", Log: os.Stderr, Now: time.Now})
}

// Real agents on this host's loopback, with a window that is too small for any
// machine, a congestion control that nobody has, and an agent that is killed.
// Nothing here is changed: the factors are of the load.
func TestRealAgents(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := example()
	f.Baseline = nil
	f.Factors = []model.StudyFactor{
		{Name: "window", Levels: []model.StudyLevel{{Name: "tiny", Workload: map[string]string{"recv_buffer": "4KiB"}}}},
		{Name: "cc", Levels: []model.StudyLevel{{Name: "none", Workload: map[string]string{"congestion": "nosuch"}}}},
	}
	f.Workloads[0].Duration, f.Workloads[0].Warmup = 300*time.Millisecond, 100*time.Millisecond
	d, err := drive.New(f)
	if err != nil {
		t.Fatal(err)
	}
	state, err := store.CreateStudy(t.TempDir(), store.StudyBegin{File: f}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close() // read below, and written through by then
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	x := &Experiment{ID: state.ID(), File: f, Director: d, Record: state, Now: time.Now, Say: func(s string) { t.Log(s) },
		Route: func(context.Context, *Host, *Host) (netip.Addr, netip.Addr, error) { return loopback, loopback, nil }}
	agents := map[string]*host.Client{}
	for _, name := range []string{"client", "server"} {
		x.Hosts = append(x.Hosts, &Host{Name: name, At: "lab:" + name, Dial: func(ctx context.Context) (Agent, error) {
			c, err := host.Dial(ctx, host.Endpoint{Name: "lab:" + name, Self: []string{self}, StateDir: t.TempDir()}, host.Options{})
			agents[name] = c
			return c, err
		}})
	}
	killed := false
	x.After = func(r model.StudyRun) {
		if r.N == 1 && !killed {
			killed = true
			_ = agents["client"].Close() // it is gone when the next run begins
		}
	}
	out, err := x.Run(t.Context())
	if err != nil || !out.Restored {
		t.Fatalf("restored %v: %v", out.Restored, err)
	}
	byLevel := map[string][]float64{}
	lost := 0
	for _, r := range out.Runs {
		switch {
		case r.Counted:
			byLevel[r.Level] = append(byLevel[r.Level], *r.Value)
			if len(r.CPU) != 2 || r.Scope != "machine" {
				t.Errorf("%s: CPU %v, scope %q", r.Label, r.CPU, r.Scope)
			}
		case r.Factor != "cc":
			lost++
		}
	}
	if len(byLevel["tiny"]) != 2 || len(byLevel["none"]) != 0 || slices.Max(byLevel["tiny"]) >= slices.Min(byLevel[""]) {
		t.Errorf("%v", byLevel)
	}
	if lost < 1 {
		t.Error("the run whose agent was gone counts")
	}
	samples, err := state.Samples(func(label string) bool { return strings.HasPrefix(label, "run ") })
	if err != nil || len(samples) == 0 {
		t.Errorf("%d runs have samples: %v", len(samples), err)
	}
}

// namespace is a network of its own, held by a process, with one end of a cable.
type namespace struct {
	name, addr string
	pid        int
}

func (n namespace) enter() []string {
	return []string{"nsenter", "-t", strconv.Itoa(n.pid), "-n", "-m", "--"}
}

func (n namespace) run(t *testing.T, args ...string) string {
	t.Helper()
	argv := append(n.enter(), args...)
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// twoNamespaces are joined by a cable.
func twoNamespaces(t *testing.T) [2]namespace {
	t.Helper()
	labtest.Needs(t, labtest.Root, labtest.Namespaces, "unshare", "nsenter", "mount", "ip")
	both := [2]namespace{{name: "client", addr: "192.0.2.1"}, {name: "server", addr: "192.0.2.2"}}
	for i := range both {
		// A sysfs of its own: what it shows of interfaces is of the namespace it was
		// mounted in.
		hold := exec.Command("unshare", "-n", "-m", "sh", "-c", "mount -t sysfs sysfs /sys && echo up && exec cat")
		end, err := hold.StdinPipe() // it lives until this is closed, by us or by our end
		if err != nil {
			t.Fatal(err)
		}
		out, err := hold.StdoutPipe()
		if err == nil {
			err = hold.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = end.Close(); _ = hold.Wait() }) // with it goes the namespace
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
			t.Fatalf("make a namespace: %q, %v", line, err)
		}
		both[i].pid = hold.Process.Pid
	}
	both[0].run(t, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", strconv.Itoa(both[1].pid))
	for _, n := range both {
		n.run(t, "ip", "addr", "add", n.addr+"/24", "dev", "eth0")
		n.run(t, "ip", "link", "set", "eth0", "up")
	}
	return both
}

// The real thing without a laboratory: settings of two network namespaces are
// changed through the journals of their agents, each with its dead-man, seen on the
// connections, and put back.
func TestRealSettings(t *testing.T) {
	t.Parallel()
	nets := twoNamespaces(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	values := func() (out string) {
		for _, n := range nets {
			out += n.run(t, "cat", "/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_timestamps", "/sys/class/net/eth0/mtu") + "\n"
		}
		return out
	}
	before := values()
	set := func(host, setting, value string) model.StudySetting {
		return model.StudySetting{Host: host, Setting: setting, Value: value}
	}
	f := example()
	f.Baseline[0].Set = []model.StudySetting{set("client", "linux.link.mtu", "4000"), set("server", "linux.link.mtu", "4000")}
	f.Factors = []model.StudyFactor{
		{Name: "window", Levels: []model.StudyLevel{{Name: "tiny", Set: []model.StudySetting{set("client", rmem, "4096 8192 16384")}}}},
		{Name: "timestamps", Levels: []model.StudyLevel{{Name: "off", Set: []model.StudySetting{set("server", sysctlTCP+"timestamps", "0")}}}},
		{Name: "mtu", Hard: true, Levels: []model.StudyLevel{
			{Name: "1500", Set: []model.StudySetting{set("client", "linux.link.mtu", "1500"), set("server", "linux.link.mtu", "1500")}},
			{Name: "one end", Set: []model.StudySetting{set("client", "linux.link.mtu", "1400")}}}},
	}
	f.Workloads[0].Duration, f.Workloads[0].Warmup = 300*time.Millisecond, 100*time.Millisecond
	d, err := drive.New(f)
	if err != nil {
		t.Fatal(err)
	}
	state, err := store.CreateStudy(t.TempDir(), store.StudyBegin{File: f}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close() // read below, and written through by then
	addrs := map[string]netip.Addr{}
	x := &Experiment{ID: state.ID(), File: f, Director: d, Record: state, Now: time.Now, Say: func(s string) { t.Log(s) },
		Route: func(_ context.Context, from, to *Host) (netip.Addr, netip.Addr, error) {
			return addrs[from.Name], addrs[to.Name], nil
		}}
	for _, n := range nets {
		addrs[n.name] = netip.MustParseAddr(n.addr)
		dir := filepath.Join(t.TempDir(), "state") // the agent makes it, for itself alone
		x.Hosts = append(x.Hosts, &Host{Name: n.name, At: "lab:" + n.name, Dial: func(ctx context.Context) (Agent, error) {
			return host.Dial(ctx, host.Endpoint{Name: "lab:" + n.name, Argv: n.enter(), Self: []string{self}, StateDir: dir}, host.Options{Log: func(s string) { t.Log(s) }})
		}})
	}
	out, err := x.Run(t.Context())
	if err != nil || !out.Restored {
		t.Fatalf("restored %v: %v", out.Restored, err)
	}
	if now := values(); now != before {
		t.Errorf("was\n%sis\n%s", before, now)
	}
	counted, why := map[string]int{}, map[string]string{}
	for _, r := range out.Runs {
		if r.Counted {
			counted[strings.TrimSpace(r.Factor+" "+r.Level)]++
		}
		if r.Effective != nil && !*r.Effective {
			why[r.Factor+" "+r.Level] = r.Why
		}
	}
	if counted["window tiny"] != 2 || counted["timestamps off"] != 2 || counted["mtu 1500"] != 2 || counted[""] < 6 {
		t.Errorf("%v, %v", counted, why)
	}
	if len(why) != 1 || !strings.Contains(why["mtu one end"], "both ends of a path have it, or neither") {
		t.Errorf("%v", why)
	}
}
