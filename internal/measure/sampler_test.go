package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel"
	"linerate/internal/kernel/golden"
	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
)

const nfsClient = "../../testdata/hosts/nfs-client"

func nfsHost(t *testing.T) *kerneltest.Host {
	t.Helper()
	h, err := kerneltest.Load(filepath.Join(nfsClient, "host.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func nfsWatch() Watch {
	return Watch{
		Addrs: []netip.Addr{netip.MustParseAddr("192.0.2.20")}, Ports: []uint16{2049},
		FindOwners: true, Mount: "/mnt/nas/",
	}
}

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

func sampler(t *testing.T, h *kerneltest.Host, w Watch) *Sampler {
	t.Helper()
	s, err := NewSampler(h, w, noon)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func read(t *testing.T, s *Sampler) model.Sample {
	t.Helper()
	out, err := s.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSamplerGolden(t *testing.T) {
	s := sampler(t, nfsHost(t), nfsWatch())
	got, err := json.MarshalIndent(read(t, s), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	file := filepath.Join(nfsClient, "sample.json")
	golden.Same(t, file, got)
	if b := s.Blind(); len(b) != 0 {
		t.Errorf("blind to %+v", b)
	}
}

func TestSamplerWatchesOnlyWhatWasNamed(t *testing.T) {
	out := read(t, sampler(t, nfsHost(t), Watch{NICs: []string{"ens1f1"}}))
	if len(out.Conns) != 0 || len(out.Tasks) != 0 || out.NFS != nil {
		t.Errorf("unasked: %+v %+v %+v", out.Conns, out.Tasks, out.NFS)
	}
	if len(out.NICs) != 1 || out.NICs[0].Name != "ens1f1" {
		t.Errorf("interfaces %+v, want ens1f1 though it is down", out.NICs)
	}
	// Without watched processes no quota counts, least of all the reader's own.
	if got := out.Throttled; got.State != model.Absent {
		t.Errorf("throttled %+v, want none", got)
	}
}

// One view missing costs that view alone, and is told once.
func TestSamplerSourcesFail(t *testing.T) {
	for p, what := range map[string]string{
		"/netlink/conns.json": "tcp_info", "/proc/stat": "per-core CPU time",
		"/proc/thread-self/net/softnet_stat": "softnet counters", "/proc/thread-self/net/netstat": "SNMP counters",
		"/netlink/links.json": "interface counters", "/netlink/qdiscs.json": "queueing discipline counters",
		"/sys/fs/cgroup": "CPU quota", "/proc/self/mountstats": "NFS statistics of /mnt/nas", "/proc/900/task": "tasks of the connections",
	} {
		h := nfsHost(t)
		h.Fail[p] = fs.ErrPermission
		s := sampler(t, h, nfsWatch())
		read(t, s)
		read(t, s)
		b := s.Blind()
		if len(b) != 1 || b[0].What != what || !strings.HasPrefix(b[0].How, "run as root") {
			t.Errorf("%s: blind to %+v, want %q once", p, b, what)
		}
	}
}

func TestSamplerNothing(t *testing.T) {
	h := nfsHost(t)
	h.Fail["/"] = fs.ErrPermission
	if _, err := sampler(t, h, nfsWatch()).Read(context.Background()); err == nil || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "nothing can be read") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := sampler(t, nfsHost(t), nfsWatch()).Read(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want cancelled", err)
	}
	h = nfsHost(t)
	h.GOOS = "freebsd"
	if _, err := NewSampler(h, Watch{}, noon); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want unsupported", err)
	}
}

// Owners are looked for once per connection: later reads touch no open file.
func TestSamplerFindsOwnersOnce(t *testing.T) {
	h := nfsHost(t)
	s := sampler(t, h, nfsWatch())
	first := read(t, s)
	h.Fail["/proc/900/fd"], h.Fail["/proc/1/fd"] = fs.ErrPermission, fs.ErrPermission
	second := read(t, s)
	if d := cmp.Diff(first.Tasks, second.Tasks); len(first.Tasks) != 2 || d != "" {
		t.Errorf("%d tasks, -first +second:\n%s", len(first.Tasks), d)
	}
	if d := cmp.Diff([]uint32{5001}, first.Tasks[0].Conns); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if b := s.Blind(); len(b) != 0 {
		t.Errorf("blind to %+v", b)
	}
}

// counting tells how a sampler asked for connections.
type counting struct {
	*kerneltest.Host
	lists, again int
}

func (c *counting) TCPConns(ctx context.Context, f kernel.TCPFilter) ([]model.Conn, error) {
	c.lists++
	return c.Host.TCPConns(ctx, f)
}

func (c *counting) TCPAgain(ctx context.Context, known []model.Conn) ([]model.Conn, error) {
	c.again++
	return c.Host.TCPAgain(ctx, known)
}

func TestSamplerListsSeldom(t *testing.T) {
	src := &counting{Host: nfsHost(t)}
	now := noon()
	s, err := NewSampler(src, nfsWatch(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	step := func(what string, after time.Duration, lists, again, conns int) {
		t.Helper()
		now = now.Add(after)
		src.lists, src.again = 0, 0
		if out := read(t, s); src.lists != lists || src.again != again || len(out.Conns) != conns {
			t.Errorf("%s: %d lists, %d lookups, %d connections", what, src.lists, src.again, len(out.Conns))
		}
	}
	step("first", 0, 1, 0, 2)
	step("does it agree", 100*time.Millisecond, 1, 0, 2)
	step("steady", 100*time.Millisecond, 0, 1, 2)
	step("a second later", time.Second, 1, 0, 2)
	all := src.Files["netlink/conns.json"]
	src.Files["netlink/conns.json"] = strings.ReplaceAll(all, "192.0.2.11:704", "192.0.2.11:705")
	step("one is gone", 100*time.Millisecond, 1, 1, 2)
	step("does it agree", 100*time.Millisecond, 1, 0, 2)
	step("steady again", 100*time.Millisecond, 0, 1, 2)
	step("the clock went back", -time.Hour, 1, 0, 2)
	src.Files["netlink/conns.json"] = "[]"
	step("all gone", 100*time.Millisecond, 1, 1, 0)
	src.Files["netlink/conns.json"] = all
	step("back", 100*time.Millisecond, 1, 0, 2)
}

// While the host has opened no connection since the last list there is none to find.
func TestSamplerListsWhenAConnectionWasOpened(t *testing.T) {
	src := &counting{Host: nfsHost(t)}
	now := noon()
	s, err := NewSampler(src, nfsWatch(), func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	opens := func(active, passive int) {
		src.Files["proc/thread-self/net/snmp"] = fmt.Sprintf("Tcp: ActiveOpens PassiveOpens\nTcp: %d %d\n", active, passive)
	}
	step := func(what string, after time.Duration, lists int) {
		t.Helper()
		now, src.lists = now.Add(after), 0
		if out := read(t, s); src.lists != lists || len(out.Conns) != 2 {
			t.Errorf("%s: %d lists, %d connections", what, src.lists, len(out.Conns))
		}
	}
	opens(3, 4)
	step("first", 0, 1)
	step("does it agree", time.Second, 1)
	step("none was opened", time.Second, 0)
	step("nor later", 10*time.Second, 0)
	opens(3, 5)
	step("one was", time.Second, 1)
	step("none since", time.Second, 0)
	step("after half a minute", 30*time.Second, 1)
	delete(src.Files, "proc/thread-self/net/snmp")
	step("the counters are gone", time.Second, 1)
}

// The watched process ends: no task, no error, no complaint.
func TestSamplerProcessEnds(t *testing.T) {
	h := nfsHost(t)
	s := sampler(t, h, Watch{PIDs: []int{900}})
	if out := read(t, s); len(out.Tasks) != 2 {
		t.Fatalf("tasks %+v", out.Tasks)
	}
	for name := range h.Files {
		if strings.HasPrefix(name, "proc/900/") {
			delete(h.Files, name)
		}
	}
	if out := read(t, s); len(out.Tasks) != 0 {
		t.Errorf("tasks %+v of a process that ended", out.Tasks)
	}
	if b := s.Blind(); len(b) != 0 {
		t.Errorf("blind to %+v", b)
	}
}

func TestSamplerQuota(t *testing.T) {
	const v1 = "-- proc/7/cgroup --\n3:cpuset:/\n1:cpu,cpuacct:/far/box\n-- proc/self/mountinfo --\n" +
		"31 23 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n32 23 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
	const stat = "-- proc/stat --\ncpu0 1 1 1 1 1 1 1 1\n-- proc/7/task/7/schedstat --\n1 2 3\n-- proc/7/task/7/stat --\n" +
		"7 (x) S 1 42 42 0 -1 4194304 10 0 0 0 150 50 0 0 20 0 3 0 100 1000 10 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n"
	for name, c := range map[string]struct {
		archive string
		dir     string
		state   model.State
		value   time.Duration
	}{
		"v1":                          {v1 + stat + "-- sys/fs/cgroup/cpu/far/box/cpu.stat --\nthrottled_time 1500\n", "", model.Present, 1500},
		"a container shows its top":   {v1 + stat + "-- sys/fs/cgroup/cpu/cpu.stat --\nthrottled_time 9\n", "", model.Present, 9},
		"the root of v2 has no quota": {stat + "-- proc/7/cgroup --\n0::/\n-- proc/self/mountinfo --\n25 24 0:26 / /cg rw - cgroup2 cgroup2 rw\n-- cg/cpu.stat --\nusage_usec 1\n", "", model.Unsupported, 0},
		"a named group":               {v1 + stat + "-- cg/x/cpu.stat --\nthrottled_usec 3\n", "/cg/x", model.Present, 3 * time.Microsecond},
		"not mounted":                 {stat + "-- proc/7/cgroup --\n0::/\n-- proc/self/mountinfo --\n27 1 254:0 / / rw - ext4 /dev/vda rw\n", "", model.Absent, 0},
	} {
		out := read(t, sampler(t, kerneltest.Parse([]byte(c.archive)), Watch{CgroupDir: c.dir, PIDs: []int{7}}))
		if out.Throttled.State != c.state || out.Throttled.Value != c.value {
			t.Errorf("%s: %+v, want %q %v", name, out.Throttled, c.state, c.value)
		}
	}
}
