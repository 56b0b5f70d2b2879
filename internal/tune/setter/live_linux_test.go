package setter_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// liveEnv marks the process that TestLive starts in namespaces of its own.
const liveEnv = "LINERATE_SETTER_TEST_LIVE"

// TestLive runs the live tests below on the running kernel, in a network
// namespace that nobody else uses.
func TestLive(t *testing.T) {
	labtest.Needs(t, labtest.Namespaces)
	cmd := kernel.Exec(context.Background(), os.Args[0], "-test.run=^TestInNamespace", "-test.v")
	cmd.Env = append(os.Environ(), liveEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInNamespaceConform")) {
		t.Fatalf("in a namespace: %v\n%s", err, out)
	}
	labtest.Inside(t, out)
}

type liveOffloads struct{}

func (liveOffloads) Get(i string) (map[string]bool, error)  { return kernel.ReadFeatures(i) }
func (liveOffloads) Set(i string, on map[string]bool) error { return kernel.SetFeatures(i, on) }

type liveLinks struct{}

func (liveLinks) Read(i string) (kernel.LinkState, error) { return kernel.ReadLink(i) }
func (liveLinks) SetMTU(i string, n int) error            { return kernel.SetMTU(i, n) }
func (liveLinks) SetTxQueueLen(i string, n int) error     { return kernel.SetTxQueueLen(i, n) }

type liveDriver struct{}

func (liveDriver) Get(i string, g kernel.EthGroup) (map[string]int64, error) {
	return kernel.ReadEth(i, g)
}
func (liveDriver) Set(i string, g kernel.EthGroup, v map[string]int64) error {
	return kernel.SetEth(i, g, v)
}

type liveTables struct{}

func (liveTables) Get(i string) (kernel.RSS, error)   { return kernel.ReadRSS(i) }
func (liveTables) Set(i string, table []uint32) error { return kernel.SetRSS(i, table) }

type liveRoutes struct{}

func (liveRoutes) Get(k kernel.RouteKey) (kernel.RouteMetrics, error) { return kernel.ReadRoute(k) }
func (liveRoutes) Set(k kernel.RouteKey, m kernel.RouteMetrics) error { return kernel.SetRoute(k, m) }

type liveQueues struct{}

func (liveQueues) Get(i string) (kernel.Qdisc, error)     { return kernel.ReadQdisc(i) }
func (liveQueues) Set(i, kind string) error               { return kernel.SetQdisc(i, kind) }
func (liveQueues) SetMaxRate(i string, rate uint32) error { return kernel.SetFQMaxRate(i, rate) }

func liveInterface(device string) (string, error) { return strings.TrimPrefix(device, "if:"), nil }

// inNamespace makes a pair of interfaces that goes with the namespace.
func inNamespace(t *testing.T, name string) {
	t.Helper()
	if os.Getenv(liveEnv) == "" {
		t.Skip("runs inside TestLive")
	}
	if err := kernel.AddVeth(kernel.Veth{Name: name, Peer: name + "p", PeerPID: os.Getpid(), MTU: 1500}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/sys/class/net/" + name); err == nil {
		return // the first test mounted it
	}
	if err := kernel.MountOwnSys(); err != nil {
		t.Fatal(err)
	}
}

// Every mechanism that a namespace has, by the running kernel and by ethtool
// and the shell of this machine.
func TestInNamespaceConform(t *testing.T) {
	inNamespace(t, "conf0")
	for _, c := range []settertest.Case{
		{Setter: setter.Link{Links: liveLinks{}, Interface: liveInterface}, At: setter.Place{Setting: setter.MTUSetting}, A: "1500", B: "9000", Messy: " 1500 "},
		{Setter: setter.Link{Links: liveLinks{}, Interface: liveInterface}, At: setter.Place{Setting: setter.TxQueueLenSetting}, A: "1000", B: "2000", Messy: " 1000 "},
		{Setter: setter.Features{Offloads: liveOffloads{}, Interface: liveInterface}, At: setter.Place{Setting: setter.FeaturesSetting},
			A: "rx-gro=on tx-tcp-segmentation=on", Messy: "tx-tcp-segmentation=on rx-gro=on", B: "rx-gro=off tx-tcp-segmentation=off"},
		{Setter: setter.Ethtool{Driver: liveDriver{}, RSS: liveTables{}, Interface: liveInterface}, At: ethPlace("channels"), A: "rx=1 tx=1", Messy: "tx=1 rx=1", B: "rx=2 tx=2"},
		{Setter: setter.Queue{Disciplines: liveQueues{}, Interface: liveInterface}, At: setter.Place{Setting: setter.QdiscSetting}, A: "default", B: "pfifo_fast", Messy: "default "},
	} {
		c.At.Target, c.RunShell = "if:conf0", true
		c.Absent = []setter.Place{{Setting: c.At.Setting, Target: "if:none0"}}
		t.Run(c.At.Setting, func(t *testing.T) { settertest.Conform(t, c) })
	}
}

// What a veth does not have is unsupported, and said so.
func TestInNamespaceUnsupported(t *testing.T) {
	inNamespace(t, "unsup0")
	e := setter.Ethtool{Driver: liveDriver{}, RSS: liveTables{}, Interface: liveInterface}
	for group, like := range map[string]string{"ring": "rx=256", "coalesce": "rx-usecs=8", "pause": "rx=on"} {
		at := setter.Place{Setting: "linux.ethtool." + group, Target: "if:unsup0"}
		if v, err := e.Read(context.Background(), at, like); err == nil || !strings.Contains(err.Error(), "not supported") {
			t.Errorf("%s: %q, %v", group, v, err)
		}
	}
	if v, err := (setter.RSS{Tables: liveTables{}, Interface: liveInterface}).Read(context.Background(), setter.Place{Setting: setter.RSSSetting, Target: "if:unsup0"}, "default"); err == nil {
		t.Errorf("RSS of a veth: %q", v)
	}
}

// Routes of all kinds: with a gateway, the kernel's own, one of two with a
// metric, several next hops, IPv6.
func TestInNamespaceRoutes(t *testing.T) {
	inNamespace(t, "route0")
	labtest.Needs(t, "ip")
	for _, argv := range [][]string{
		// No addresses of the kernel's own: seconds later they bring routes,
		// in the middle of a comparison.
		{"link", "set", "route0", "addrgenmode", "none"}, {"link", "set", "route0p", "addrgenmode", "none"},
		{"link", "set", "lo", "up"}, {"addr", "add", "10.1.0.1/24", "dev", "route0"}, {"addr", "add", "fd00::1/64", "dev", "route0", "nodad"},
		{"link", "set", "route0", "up"}, {"link", "set", "route0p", "up"},
		{"route", "add", "10.2.0.0/16", "via", "10.1.0.2", "initrwnd", "30", "hoplimit", "9"},
		{"route", "add", "10.2.0.0/16", "via", "10.1.0.3", "metric", "50"},
		{"route", "add", "10.3.0.0/16", "nexthop", "via", "10.1.0.5", "nexthop", "via", "10.1.0.6", "weight", "3"},
		{"-6", "route", "add", "fd01::/64", "via", "fd00::2"},
		{"-6", "route", "add", "fd01::/64", "via", "fd00::3", "metric", "70"},
	} {
		ip(t, argv...)
	}
	all := func() string {
		return ip(t, "-4", "route", "show", "table", "all") + ip(t, "-6", "route", "show", "table", "all")
	}
	for _, target := range []string{"route:10.2.0.0/16", "route:10.2.0.0/16@50", "route:10.1.0.0/24", "route:10.3.0.0/16", "route:fd01::/64@1024", "route:fd01::/64@70"} {
		for name, c := range map[string]settertest.Case{
			"initcwnd": {A: "unset", B: "40", Messy: "unset "}, "mtu": {A: "unset", B: "lock 1400", Messy: " unset"},
			"quickack": {A: "unset", B: "1", Messy: " unset"}, "congctl": {A: "unset", B: "reno", Messy: " unset"}, "advmss": {A: "1300", B: "1200", Messy: "1300 "},
		} {
			if name != "initcwnd" && target != "route:10.2.0.0/16" {
				continue
			}
			c.Setter, c.At = setter.Route{Routes: liveRoutes{}}, routePlace(name, target)
			c.Absent = []setter.Place{routePlace(name, "route:10.9.0.0/16"), routePlace(name, target+"999")}
			c.RunShell, c.Rest = true, all
			t.Run(name+" of "+target, func(t *testing.T) { settertest.Conform(t, c) })
		}
	}
}

// Which sysctls a namespace has for itself is what this kernel lets it open.
func TestInNamespaceSysctlScope(t *testing.T) {
	inNamespace(t, "scope0")
	seen := map[string]int{}
	for _, name := range []string{
		"net.core.rmem_max", "net.core.wmem_max", "net.core.rmem_default", "net.core.wmem_default", "net.core.netdev_max_backlog", "net.core.netdev_budget",
		"net.core.default_qdisc", "net.core.busy_poll", "net.core.somaxconn", "net.core.optmem_max", "net.core.rps_sock_flow_entries",
		"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_mem", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps",
		"net.ipv4.tcp_window_scaling", "net.ipv4.tcp_moderate_rcvbuf", "net.ipv4.tcp_mtu_probing", "net.ipv4.tcp_ecn", "net.ipv4.tcp_no_metrics_save",
		"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_limit_output_bytes", "net.ipv4.tcp_adv_win_scale",
		"net.ipv4.tcp_autocorking", "net.ipv4.conf.all.rp_filter", "net.ipv4.tcp_max_orphans", "net.ipv4.udp_mem",
	} {
		f, err := os.OpenFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), os.O_WRONLY, 0)
		own := setter.ScopeMachine
		if err == nil {
			own = setter.ScopeNamespace
			_ = f.Close() // nothing was written
		}
		if got := setter.SysctlScope("linux.sysctl." + name); got != own {
			t.Errorf("%s: said to be of the %s, and opening it here gives %v", name, got, err)
		}
		seen[own]++
	}
	if seen[setter.ScopeMachine] < 5 || seen[setter.ScopeNamespace] < 10 {
		t.Errorf("%v", seen)
	}
}

// A discipline that somebody configured is found as such, by this kernel's own
// answers, and left alone.
func TestInNamespaceQueueOfOthers(t *testing.T) {
	inNamespace(t, "queue0")
	labtest.Needs(t, "tc")
	q := setter.Queue{Disciplines: liveQueues{}, Interface: liveInterface}
	at := setter.Place{Setting: setter.QdiscSetting, Target: "if:queue0"}
	for _, step := range []struct {
		kind string
		want error
	}{{"pfifo_fast", nil}, {"tbf rate 1gbit burst 1m limit 1m", setter.ErrSideEffect}} {
		run(t, append([]string{"tc", "qdisc", "replace", "dev", "queue0", "root"}, strings.Fields(step.kind)...)...)
		before := run(t, "tc", "qdisc", "show", "dev", "queue0")
		if err := q.Write(context.Background(), at, "pfifo_fast"); !errors.Is(err, step.want) {
			t.Errorf("%s: %v", step.kind, err)
		}
		if err := q.Write(context.Background(), at, "default"); !errors.Is(err, setter.ErrSideEffect) {
			t.Errorf("%s: %v", step.kind, err)
		}
		if after := run(t, "tc", "qdisc", "show", "dev", "queue0"); after != before {
			t.Errorf("it was\n%s\nand is\n%s", before, after)
		}
	}
}

// open-iscsi's own program, with a database that goes with the namespace.
func TestInNamespaceISCSI(t *testing.T) {
	inNamespace(t, "iscsi0")
	labtest.Needs(t, "iscsiadm", "mount")
	for _, dir := range []string{"/etc/iscsi", "/run"} {
		run(t, "mount", "-t", "tmpfs", "none", dir)
	}
	run(t, "mkdir", "-p", "/run/lock/iscsi")
	if err := os.WriteFile("/etc/iscsi/initiatorname.iscsi", []byte("InitiatorName=iqn.2004-01.org.example:me\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	iscsiadm := func(ctx context.Context, argv ...string) ([]byte, error) {
		return kernel.Exec(ctx, argv...).Output() // stderr tells that no daemon runs
	}
	if _, err := iscsiadm(context.Background(), "iscsiadm", "-m", "node", "-o", "new", "-T", "iqn.2004-01.org.example:disk", "-p", "10.0.0.5:3260"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]settertest.Case{
		"bursts":           {A: "first=262144 initial_r2t=No max=16776192", B: "first=65536 initial_r2t=Yes max=1048576", Messy: "max=16776192 initial_r2t=No first=262144"},
		"max_recv_segment": {A: "262144", B: "1048576", Messy: "262144 "}, "queue_depth": {A: "lun=32 session=128", B: "lun=128 session=1024", Messy: "session=128 lun=32"},
		"sessions": {A: "1", B: "4", Messy: "1 "}, "digests": {A: "header=None", B: "header=CRC32C,None", Messy: "header=None "},
		"timeouts": {A: "ping_answer=5 ping_every=5 replacement=120", B: "ping_answer=9 ping_every=0 replacement=15", Messy: "replacement=120 ping_every=5 ping_answer=5"},
	} {
		c.Setter, c.At = setter.ISCSI{Run: iscsiadm}, setter.Place{Setting: "linux.iscsi." + name, Target: iscsiNode}
		c.Absent = []setter.Place{{Setting: c.At.Setting, Target: strings.Replace(iscsiNode, "disk", "other", 1)}}
		t.Run(name, func(t *testing.T) { settertest.Conform(t, c) })
	}
}

// ip runs one ip command.
func ip(t *testing.T, args ...string) string {
	t.Helper()
	return run(t, append([]string{"ip"}, args...)...)
}

func run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := kernel.Exec(context.Background(), argv...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", argv, err, out)
	}
	return string(out)
}
