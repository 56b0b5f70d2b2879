package facts

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel"
	"linerate/internal/kernel/golden"
	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
	"linerate/internal/unit"
)

var (
	record = flag.String("record", "", "write a recording of this host to the named file")
)

const hosts = "../../testdata/hosts"

func taken() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func load(t *testing.T, name string) *kerneltest.Host {
	t.Helper()
	h, err := kerneltest.Load(filepath.Join(hosts, name, "host.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestReadGolden(t *testing.T) {
	dirs, err := os.ReadDir(hosts)
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%d recorded hosts, %v", len(dirs), err)
	}
	for _, d := range dirs {
		if strings.HasPrefix(d.Name(), "papers-") { // trees of files, for the audit
			continue
		}
		t.Run(d.Name(), func(t *testing.T) {
			f, err := Read(context.Background(), load(t, d.Name()), d.Name(), taken())
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(f, "", "\t")
			if err != nil {
				t.Fatal(err)
			}
			golden.Same(t, filepath.Join(hosts, d.Name(), "facts.json"), append(got, '\n'))
			// An agent sends them as JSON: what is there must come back.
			var back model.Facts
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if again, err := json.MarshalIndent(back, "", "\t"); err != nil || string(again) != string(got) {
				t.Errorf("the facts do not survive JSON: %v", err)
			}
		})
	}
}

func TestReadDegradedSlot(t *testing.T) {
	f, err := Read(context.Background(), load(t, "mlx-40g"), "h", taken())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range f.NICs {
		if n.Name != "enp59s0" {
			continue
		}
		want := model.PCISlot{Address: "0000:3b:00.0", GTs: 5, Lanes: 4, MaxGTs: 8, MaxLanes: 8}
		if n.PCI.Value != want || n.Speed.Value != 40*unit.Gbit || n.NUMA.Value != 1 {
			t.Errorf("slot %+v, speed %v, node %+v", n.PCI, n.Speed, n.NUMA)
		}
		return
	}
	t.Error("no enp59s0")
}

// Whatever a host keeps to itself, the rest is still told, with the reason.
func TestReadDenied(t *testing.T) {
	h := load(t, "mlx-40g")
	for _, p := range []string{"/proc/sys/net/ipv4/tcp_rmem", "/proc/self/mountinfo", "/netlink/ports.json", "/netlink/addrs.json", "/sys"} {
		h.Fail[p] = fs.ErrPermission
	}
	delete(h.Files, "proc/sys/net/core/rmem_max")
	f, err := Read(context.Background(), h, "h", taken())
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Settings[sysctlID+"net.ipv4.tcp_rmem"].State; got != model.Denied {
		t.Errorf("tcp_rmem is %q, want denied", got)
	}
	if got := f.Settings[sysctlID+"net.core.rmem_max"].State; got != model.Absent {
		t.Errorf("rmem_max is %q, want absent", got)
	}
	for _, n := range f.NICs {
		if n.Speed.State == model.Present || n.Features.State == model.Present || n.PCI.State == model.Present {
			t.Errorf("%s has facts that nobody could see: %+v", n.Name, n)
		}
	}
	var missed []string
	for _, b := range f.CouldNotSee {
		missed = append(missed, b.What)
		if !strings.Contains(b.How, "run as root") {
			t.Errorf("%s: %q does not say what to do", b.What, b.How)
		}
	}
	if d := cmp.Diff([]string{"interface addresses", "PCIe payload sizes", "Thunderbolt", "mounts", "block devices", "iSCSI sessions"}, missed); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestReadNothing(t *testing.T) {
	h := load(t, "mlx-40g")
	h.Fail["/"] = fs.ErrPermission
	_, err := Read(context.Background(), h, "nas1", taken())
	if err == nil || !strings.Contains(err.Error(), "read facts of nas1: nothing can be read") || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
	h = load(t, "mlx-40g")
	h.GOOS = "illumos"
	if _, err := Read(context.Background(), h, "nas1", taken()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error %v, want unsupported", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Read(ctx, load(t, "mlx-40g"), "h", taken()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want cancelled", err)
	}
}

// Every file of a recorded host broken in turn: facts, or one error, and
// never a panic.
func TestReadBroken(t *testing.T) {
	for name := range load(t, "mlx-40g").Files {
		for _, text := range []string{"", "\x00", "-1\n", strings.Repeat("9", 40) + "\n", "a b c d e f g h i j k - l\n", "{}", "null"} {
			h := load(t, "mlx-40g")
			h.Files[name] = text
			if _, err := Read(context.Background(), h, "h", taken()); err != nil {
				t.Errorf("%s as %q: %v", name, text, err)
			}
		}
	}
}

func TestSpeedOf(t *testing.T) {
	known := kernel.Port{Driver: model.Known("mlx5_core"), Mbps: model.Known(100000)}
	for _, c := range []struct {
		name  string
		l     kernel.Link
		p     kernel.Port
		state model.State
	}{
		{"hardware", kernel.Link{}, known, model.Present},
		{"veth by kind", kernel.Link{Kind: "veth"}, known, model.Unsupported},
		{"vmxnet3 by driver", kernel.Link{}, kernel.Port{Driver: model.Known("vmxnet3"), Mbps: model.Known(10000)}, model.Unsupported},
		{"bond", kernel.Link{Kind: "bond"}, kernel.Port{Driver: model.Known("bonding"), Mbps: model.Known(20000)}, model.Present},
		{"no link", kernel.Link{}, kernel.Port{Mbps: model.Unknown[int](model.Unsupported, "the driver reports no speed")}, model.Unsupported},
		{"denied", kernel.Link{}, kernel.Port{Mbps: model.Unknown[int](model.Denied, "no")}, model.Denied},
	} {
		if got := speedOf(c.l, c.p); got.State != c.state {
			t.Errorf("%s: %+v, want %q", c.name, got, c.state)
		}
	}
}

func TestParseLinkSpeed(t *testing.T) {
	for s, want := range map[string]float64{"8.0 GT/s PCIe\n": 8, "2.5 GT/s": 2.5, "64.0 GT/s PCIe": 64} {
		if got, err := parseLinkSpeed(s); got != want || err != nil {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"Unknown", "", "NaN GT/s", "-1 GT/s", "8", "Inf GT/s"} {
		if _, err := parseLinkSpeed(s); err == nil {
			t.Errorf("%q: no error", s)
		}
	}
}

// TestRecord makes a recording with -record FILE; look through it before it
// is committed.
func TestRecord(t *testing.T) {
	if *record == "" {
		t.Skip("only with -record FILE")
	}
	r := kerneltest.NewRecorder(kernel.Live{})
	if _, err := Read(context.Background(), r, "recorded", taken()); err != nil {
		t.Fatal(err)
	}
	b, err := r.Archive()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(*record, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func FuzzFacts(f *testing.F) {
	f.Add("Uid:\t0\t0\t0\t0\nCpus_allowed_list:\t0-1\n")
	f.Add("8.0 GT/s PCIe")
	f.Fuzz(func(t *testing.T, s string) {
		if uid, cpus, err := parseStatus(s); err == nil && (uid < 0 || len(cpus) == 0) {
			t.Errorf("status %d %v", uid, cpus)
		}
		if v, err := parseLinkSpeed(s); err == nil && !(v > 0) {
			t.Errorf("speed %v", v)
		}
	})
}

func ExampleMountError() {
	err := &MountError{Path: "/home", Kind: ErrLocal, Mount: model.Mount{Source: "/dev/sda1", Point: "/", Type: "ext4"}}
	fmt.Println(err)
	// Output: /home is on a local file system (ext4 on /dev/sda1, mounted at /): nothing crosses the network
}

// The packet filter tells only root: a refusal stands among what was not seen, a
// filter that is not loaded does not.
func TestFirewall(t *testing.T) {
	h := load(t, "vm-virtio")
	read := func() *model.Facts {
		t.Helper()
		f, err := Read(context.Background(), h, "h", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	blind := func(f *model.Facts) bool {
		return slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool {
			return b.What == "firewall rules" && strings.Contains(b.How, "root")
		})
	}
	if f := read(); f.Firewall.State != model.Absent || blind(f) {
		t.Errorf("not loaded: %+v, %+v", f.Firewall, f.CouldNotSee)
	}
	h.Fail["/netlink/firewall.json"] = fs.ErrPermission
	if f := read(); f.Firewall.State != model.Denied || !blind(f) {
		t.Errorf("denied: %+v, %+v", f.Firewall, f.CouldNotSee)
	}
	delete(h.Fail, "/netlink/firewall.json")
	h.Files["netlink/firewall.json"] = `[{"by":"nf_tables","family":"inet","table":"t","chain":"c","hook":"input","rules":7,"before":2}]`
	if f := read(); len(f.Firewall.Value) != 1 || f.Firewall.Value[0].Rules != 7 || *f.Firewall.Value[0].Before != 2 {
		t.Errorf("%+v", f.Firewall)
	}
}

// withFile is a recorded host of which one file is that of a directory.
type withFile struct {
	*kerneltest.Host
	root kernel.Root
	name string
}

func (w withFile) ReadFile(abs string) ([]byte, error) {
	if abs == w.name {
		return w.root.ReadFile("/file")
	}
	return w.Host.ReadFile(abs)
}

// A file of /proc or /sys that is 100 MB large takes no more with it than what it
// would have told, and is named.
func TestReadAHundredMegabytes(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(100<<20), f.Close()); err != nil {
		t.Fatal(err)
	}
	h := load(t, "dtn-40g-sick")
	for _, name := range []string{
		"/proc/self/mountinfo", "/proc/net/netstat", "/proc/net/snmp", "/proc/self/status", "/proc/uptime", "/proc/sys/kernel/osrelease",
		"/proc/net/softnet_stat", "/proc/meminfo", "/proc/sys/net/ipv4/tcp_rmem",
	} {
		got, err := Read(context.Background(), withFile{h, kernel.Root(dir), name}, "h", taken())
		if err != nil || len(got.NICs) == 0 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.ContainsFunc(got.CouldNotSee, func(b model.Blind) bool { return b.What == name && strings.Contains(b.How, "larger than") }) {
			t.Errorf("%s: %+v", name, got.CouldNotSee)
		}
	}
}

// A container, or a jail of a service, may show no /sys: no finding is then no sign of health.
func TestAHostWithoutSysSaysSo(t *testing.T) {
	h := load(t, "mlx-40g")
	h.Fail["/sys"] = fs.ErrNotExist
	f, err := Read(context.Background(), h, "nas1", taken())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return b.What == "/sys" && strings.Contains(b.How, "mount") }) {
		t.Errorf("%+v", f.CouldNotSee)
	}
}
