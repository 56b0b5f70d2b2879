package setter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// fakeZFS is a pool with the dataset tank/media, whose parent has a value of
// its own, by the words of zfs(8).
type fakeZFS struct {
	local    map[string]string // of tank/media
	received map[string]string
	parent   map[string]string
	refuse   error
	vanish   bool
	gone     bool
}

func newZFS() *fakeZFS {
	return &fakeZFS{
		local:    map[string]string{},
		received: map[string]string{"compression": "gzip-9"},
		parent:   map[string]string{"recordsize": "131072", "compression": "lz4", "sync": "standard", "primarycache": "all", "dedup": "off", "atime": "on"},
	}
}

func (z *fakeZFS) run(_ context.Context, argv ...string) ([]byte, error) {
	if z.gone || argv[0] != "zfs" || argv[len(argv)-1] != "tank/media" {
		return nil, fmt.Errorf("cannot open '%s': dataset does not exist", argv[len(argv)-1])
	}
	name := argv[len(argv)-2]
	if argv[1] != "get" && z.refuse != nil {
		return nil, z.refuse
	}
	switch strings.Join(argv[1:len(argv)-2], " ") {
	case "get -H -p -o value,source":
		if v, ok := z.local[name]; ok {
			return []byte(strings.ReplaceAll(v, "\x00", "\treceived") + map[bool]string{true: "\n", false: "\tlocal\n"}[strings.Contains(v, "\x00")]), nil
		}
		if v, ok := z.parent[name]; ok {
			return []byte(v + "\tinherited from tank\n"), nil
		}
		return []byte("-\t-\n"), nil
	case "set":
		k, v, _ := strings.Cut(name, "=")
		z.local[k] = v
	case "inherit":
		delete(z.local, name)
	case "inherit -S":
		z.local[name] = z.received[name] + "\x00"
	default:
		return nil, fmt.Errorf("zfs was called with %q", argv)
	}
	z.gone = z.vanish
	return nil, nil
}

func zfsPlace(property, dataset string) setter.Place {
	return setter.Place{Setting: "any.zfs." + property, Target: "zfs:" + dataset}
}

func TestZFSConforms(t *testing.T) {
	for name, c := range map[string]settertest.Case{
		"recordsize":   {A: "inherit:131072", Messy: "inherit:128K", B: "1048576", Bad: []string{"100000", "256", "32M", "1G", "0", "-1", "99999999999999999999", "inherit", "local:131072"}},
		"compression":  {A: "received:gzip-9", Messy: " received:gzip-9", B: "zstd-3", Bad: []string{"zstd-20", "gzip-0", "lz5"}},
		"sync":         {A: "inherit:standard", Messy: "inherit:standard\n", B: "always", Bad: []string{"off", "standard;x"}},
		"primarycache": {A: "metadata", Messy: "metadata ", B: "all", Bad: []string{"some"}},
	} {
		z := newZFS()
		c.Setter, c.At = setter.ZFS{Run: z.run}, zfsPlace(name, "tank/media")
		c.BadAt = []setter.Place{zfsPlace(name, ""), zfsPlace(name, "-r"), zfsPlace(name, "tank media"), zfsPlace(name, "tank;x"), zfsPlace("quota", "tank"), {Setting: c.At.Setting, Target: "tank/media"}}
		c.Absent = []setter.Place{zfsPlace(name, "tank/none")}
		c.Rest = func() string { return fmt.Sprint(z.local, z.parent) }
		c.Refuse = func(err error) { z.refuse = err }
		c.Vanish = func() { z.vanish = true }
		t.Run(name, func(t *testing.T) { settertest.Conform(t, c) })
	}
	z := newZFS()
	if v, err := (setter.ZFS{Run: z.run}).Read(context.Background(), zfsPlace("direct", "tank/media"), ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("a property that this ZFS does not have: %q, %v", v, err)
	}
}

func TestZFSShell(t *testing.T) {
	for answer, want := range map[string]string{"131072\tdefault": "inherit:131072", "1048576\tlocal": "1048576", "lz4\tinherited from tank": "inherit:lz4", "gzip\treceived": "received:gzip"} {
		bin, record := fakeProgram(t, "zfs", answer+"\n")
		sh, err := setter.ZFS{}.Shell(zfsPlace("compression", "tank/media"), "lz4")
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, bin, "set -fu; "+sh.Read); got != want {
			t.Errorf("%q: read %q, want %q", answer, got, want)
		}
		for value, called := range map[string]string{"lz4": "set compression=lz4 tank/media", "inherit:lz4": "inherit compression tank/media", "received:gzip": "inherit -S compression tank/media"} {
			if err := os.Remove(record); err != nil {
				t.Fatal(err)
			}
			runShell(t, bin, "set -fu; value="+value+"; "+sh.Write)
			if got, err := os.ReadFile(record); err != nil || string(got) != called+"\n" {
				t.Errorf("%s: zfs was called with %q, %v", value, got, err)
			}
		}
	}
}

// fakeSystem is a host with or without systemd.
type fakeSystem struct {
	tree   *settertest.Tree
	active string
	loaded string
	refuse error
	calls  []string
}

func newSystem(t *testing.T, systemd bool, cmdline string) *fakeSystem {
	files := map[string]string{"/proc/1/comm": "init\n", "/proc/1/cmdline": "init", "/proc/uptime": "1 1\n"}
	if systemd {
		files["/run/systemd/system/x"] = ""
	}
	if cmdline != "" {
		files["/proc/77/comm"], files["/proc/77/cmdline"] = "irqbalance\n", cmdline
	}
	return &fakeSystem{tree: settertest.NewTree(t, files), active: "active", loaded: "loaded"}
}

func (s *fakeSystem) run(_ context.Context, argv ...string) ([]byte, error) {
	call := strings.Join(argv, " ")
	s.calls = append(s.calls, call)
	if !strings.Contains(call, "show") && s.refuse != nil {
		return nil, s.refuse
	}
	dir := s.tree.Path("/proc/77")
	switch call {
	case "systemctl show --property=LoadState --property=ActiveState irqbalance.service":
		return []byte("LoadState=" + s.loaded + "\nActiveState=" + s.active + "\n"), nil
	case "systemctl start irqbalance.service":
		s.active = "active"
	case "systemctl stop irqbalance.service":
		s.active = "inactive"
	case "kill 77":
		return nil, os.RemoveAll(dir)
	case "irqbalance":
		return nil, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "comm"), []byte("irqbalance\n"), 0o600),
			os.WriteFile(filepath.Join(dir, "cmdline"), []byte("irqbalance\x00"), 0o600))
	default:
		return nil, fmt.Errorf("%s: %w", call, fs.ErrNotExist)
	}
	return nil, nil
}

func TestServiceConforms(t *testing.T) {
	for name, s := range map[string]*fakeSystem{"systemd": newSystem(t, true, ""), "a process": newSystem(t, false, "/usr/sbin/irqbalance\x00")} {
		t.Run(name, func(t *testing.T) {
			settertest.Conform(t, settertest.Case{
				Setter: setter.Service{Tree: s.tree, Run: s.run}, At: setter.Place{Setting: setter.IRQBalanceSetting},
				A: "running", Messy: " running\n", B: "stopped", Bad: []string{"disabled", "on", "running stopped"},
				BadAt:  []setter.Place{{Setting: "linux.service.sshd"}, {Setting: setter.IRQBalanceSetting, Target: "if:lo"}},
				Rest:   func() string { return s.active + s.loaded },
				Refuse: func(err error) { s.refuse = err },
			})
		})
	}
}

func TestServiceThatIsLeftAlone(t *testing.T) {
	at := setter.Place{Setting: setter.IRQBalanceSetting}
	s := newSystem(t, true, "")
	s.loaded = "not-found"
	if v, err := (setter.Service{Tree: s.tree, Run: s.run}).Read(context.Background(), at, ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("not installed: %q, %v", v, err)
	}
	s.loaded, s.active = "loaded", "deactivating"
	if v, err := (setter.Service{Tree: s.tree, Run: s.run}).Read(context.Background(), at, ""); err == nil {
		t.Errorf("half way: %q", v)
	}
	p := newSystem(t, false, "/usr/sbin/irqbalance\x00--banirq=24\x00")
	if err := (setter.Service{Tree: p.tree, Run: p.run}).Write(context.Background(), at, "stopped"); !errors.Is(err, setter.ErrSideEffect) || len(p.calls) != 0 {
		t.Errorf("a process with arguments: %v, %q", err, p.calls)
	}
}

// fakeNode is open-iscsi's record of one node, or one for each of its
// interfaces.
type fakeNode struct {
	entry  map[string]string
	second string // CmdsMax of a second record
	refuse error
	vanish bool
	gone   bool
}

const iscsiNode = "iscsi:iqn.2004-01.org.example:disk,10.0.0.5:3260"

func newNode() *fakeNode {
	return &fakeNode{entry: map[string]string{
		"node.session.iscsi.FirstBurstLength": "262144", "node.session.iscsi.MaxBurstLength": "16776192", "node.session.iscsi.InitialR2T": "No",
		"node.session.iscsi.ImmediateData": "Yes", "node.session.cmds_max": "128", "node.session.queue_depth": "32", "node.session.nr_sessions": "1",
		"node.conn[0].iscsi.MaxRecvDataSegmentLength": "262144", "node.conn[0].iscsi.HeaderDigest": "None", "node.conn[0].iscsi.DataDigest": "None",
		"node.session.timeo.replacement_timeout": "120", "node.conn[0].timeo.noop_out_interval": "5", "node.session.auth.password": "********",
	}}
}

func (n *fakeNode) run(_ context.Context, argv ...string) ([]byte, error) {
	node := "iscsiadm -m node -T iqn.2004-01.org.example:disk -p 10.0.0.5:3260"
	call := strings.Join(argv, " ")
	if n.gone || !strings.HasPrefix(call, node) {
		return nil, errors.New("iscsiadm: No records found")
	}
	if call == node {
		return []byte(n.record()), nil
	}
	if n.refuse != nil {
		return nil, n.refuse
	}
	if len(argv) != 13 || !slices.Equal(argv[7:10], []string{"-o", "update", "-n"}) || argv[11] != "-v" {
		return nil, fmt.Errorf("iscsiadm was called with %q", argv)
	}
	n.entry[argv[10]], n.gone = argv[12], n.vanish
	return nil, nil
}

func (n *fakeNode) record() string {
	out := "# BEGIN RECORD 2.1.8\n"
	for k, v := range n.entry {
		out += k + " = " + v + "\n"
	}
	out += "# END RECORD\n"
	if n.second != "" {
		out += "# BEGIN RECORD 2.1.8\nnode.session.cmds_max = " + n.second + "\n# END RECORD\n"
	}
	return out
}

func TestISCSIConforms(t *testing.T) {
	for name, c := range map[string]settertest.Case{
		"bursts":           {A: "first=262144 initial_r2t=No max=16776192", B: "first=65536 initial_r2t=Yes max=1048576", Messy: "max=16776192  first=262144 initial_r2t=No", Bad: []string{"first=511", "max=16777216", "first=2000000 max=1000000", "initial_r2t=yes", "first", "burst=1"}},
		"max_recv_segment": {A: "262144", B: "1048576", Messy: " 262144", Bad: []string{"511", "16777216", "256K", "1 2"}},
		"queue_depth":      {A: "lun=32 session=128", B: "lun=128 session=1024", Messy: "session=128 lun=32", Bad: []string{"session=100", "lun=0", "session=4096"}},
		"sessions":         {A: "1", B: "4", Messy: "1 ", Bad: []string{"0", "33"}},
		"digests":          {A: "data=None header=None", B: "data=CRC32C header=None,CRC32C", Messy: "header=None data=None", Bad: []string{"data=crc32c", "data=MD5"}},
		"timeouts":         {A: "ping_every=5 replacement=120", B: "ping_every=0 replacement=-1", Messy: "replacement=120 ping_every=5", Bad: []string{"replacement=-2", "ping_every=1d"}},
	} {
		n := newNode()
		place := func(target string) setter.Place { return setter.Place{Setting: "linux.iscsi." + name, Target: target} }
		c.Setter, c.At = setter.ISCSI{Run: n.run}, place(iscsiNode)
		for _, bad := range []string{"", "iqn.2004-01.org.example:disk,10.0.0.5:3260", "iscsi:disk,10.0.0.5:3260", "iscsi:iqn.x", "iscsi:iqn.x,10.0.0.5", "iscsi:iqn.x,host:3260", "iscsi:iqn.x;y,10.0.0.5:3260", "iscsi:iqn./../x,10.0.0.5:3260"} {
			c.BadAt = append(c.BadAt, place(bad))
		}
		c.Absent = []setter.Place{place("iscsi:iqn.2004-01.org.example:other,10.0.0.5:3260")}
		c.Rest = func() string { return fmt.Sprint(n.entry) }
		c.Refuse = func(err error) { n.refuse = err }
		c.Vanish = func() { n.vanish = true }
		t.Run(name, func(t *testing.T) { settertest.Conform(t, c) })
	}
}

func TestISCSIRecords(t *testing.T) {
	n := newNode()
	s := setter.ISCSI{Run: n.run}
	at := setter.Place{Setting: "linux.iscsi.queue_depth", Target: iscsiNode}
	if got, err := s.Read(context.Background(), at, ""); got != "lun=32 session=128" || err != nil {
		t.Errorf("all parts: %q, %v", got, err)
	}
	n.second = "64"
	if got, err := s.Read(context.Background(), at, ""); !errors.Is(err, setter.ErrSideEffect) {
		t.Errorf("interfaces that differ: %q, %v", got, err)
	}
	at.Setting = "linux.iscsi.timeouts" // this old record has no noop_out_timeout
	if got, err := s.Read(context.Background(), at, "ping_answer=5"); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("a record without it: %q, %v", got, err)
	}
	bin, record := fakeProgram(t, "iscsiadm", newNode().record())
	for _, c := range []struct{ setting, now, value, called string }{
		{"digests", "data=None header=None", "data=CRC32C header=None",
			"-o update -n node.conn[0].iscsi.DataDigest -v CRC32C|-o update -n node.conn[0].iscsi.HeaderDigest -v None"},
		{"sessions", "1", "4", "-o update -n node.session.nr_sessions -v 4"},
	} {
		sh, err := setter.ISCSI{}.Shell(setter.Place{Setting: "linux.iscsi." + c.setting, Target: iscsiNode}, c.now)
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, bin, "set -fu; "+sh.Read); got != c.now {
			t.Errorf("the shell reads %q, want %q", got, c.now)
		}
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
		runShell(t, bin, "set -fu; value="+setter.Quote(c.value)+"; { "+sh.Write+"; } >/dev/null")
		called, err := os.ReadFile(record)
		want := ""
		for w := range strings.SplitSeq(c.called, "|") {
			want += "-m node -T iqn.2004-01.org.example:disk -p 10.0.0.5:3260 " + w + "\n"
		}
		if err != nil || string(called) != want {
			t.Errorf("iscsiadm was called with\n%s%v, want\n%s", called, err, want)
		}
	}
}
