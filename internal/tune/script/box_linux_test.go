package script

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/systems/fake"
)

// change is a setting of a kind, as the fake has it and as a plan wants it.
type change struct{ setting, target, from, to string }

// changes are those of the guide that a kind sets, in the order of a plan; keep is of which the
// host's files get the value too.
func changes(kind string) []change {
	return map[string][]change{
		"illumos": {
			{"illumos.dladm.mtu", "if:igb0", "1500", "9000"},
			{"illumos.ipadm.tcp.max_buf", "", "1048576", "4194304"},
			{"illumos.ipadm.tcp.send_buf", "", "49152", "2097152"},
			{"illumos.sharectl.nfs.servers", "", "1024", "2048"},
			{"illumos.system.zfs.l2arc_noprefetch", "", "unset", "0"},
			{"illumos.driver.ixgbe.intr_throttling", "", "unset", "0"},
			{"illumos.stmf.write_cache", "600144F0C73A8B0000005A1B2C3D0001", "true", "false"},
			{"any.zfs.atime", "zfs:tank/media", "inherit:on", "off"},
		},
		"freebsd": {
			{"freebsd.sysctl.dev.ix.N.fc", "if:ix0", "3", "0"},
			{"freebsd.ifconfig.mtu", "if:ix0", "1500", "9000"},
			{"freebsd.ifconfig.offload", "if:ix0", "lro=on,tso4=on,tso6=on", "lro=off,tso4=on,tso6=off"},
			{"freebsd.sysctl.kern.ipc.maxsockbuf", "", "2097152", "16777216"},
			{"freebsd.sysctl.net.inet.tcp.cc.algorithm", "", "cubic", "newreno"},
			{"freebsd.nfsd.threads", "", "64", "128"},
			{"freebsd.sysctl.kern.ipc.nmbclusters", "", "unset", "8000000"},
			{"any.zfs.atime", "zfs:tank/media", "inherit:on", "off"},
		},
		"macos": {
			{"macos.link.mtu", "if:en0", "1500", "9000"},
			{"macos.sysctl.kern.ipc.maxsockbuf", "", "8388608", "16777216"},
			{"macos.sysctl.net.inet.tcp.autorcvbufmax", "", "4194304", "8388608"},
			{"macos.sysctl.net.inet.tcp.delayed_ack", "", "3", "0"},
			{"macos.sysctl.net.inet.tcp.doautorcvbuf", "", "1", "0"},
			{"macos.file.nsmb_conf", "signing_required", "yes", "no"},
			{"macos.file.nsmb_conf", "mc_prefer_wired", "unset", "yes"},
		},
		"onefs": {
			{"onefs.network.mtu", "groupnet0.subnet0", "1500", "9000"},
			{"onefs.network.aggregation", "groupnet0.subnet0.pool0", "failover", "lacp"},
			{"onefs.sysctl.efs.bam.fnprefetch.enable_streaming", "", "0", "1"},
			{"onefs.sysctl.efs.bam.fnprefetch.enable_concurrent", "", "0", "1"},
			{"onefs.sysctl.efs.bam.fnprefetch.lookahead_streaming", "", "9", "24"},
			{"onefs.sysctl.efs.bam.fnprefetch.prefetch_ll_all", "", "1", "0"},
			{"onefs.file.access_pattern", "/ifs/data", "concurrency", "streaming"},
			{"onefs.file.protection", "/ifs/data", "default", "+2:1"},
		},
	}[kind]
}

// others are the settings of DELL's, ATTO's and napp-it's papers that are not among changes, each for a plan of
// its own.
func others(kind string) []change {
	return map[string][]change{
		"illumos": {
			{"illumos.ipadm.tcp.recv_buf", "", "128000", "1048576"},
			{"illumos.sharectl.nfs.lockd_servers", "", "256", "1024"},
			{"illumos.system.nfs.nfs3_bsize", "", "unset", "1048576"},
			{"illumos.system.nfs.nfs3_max_threads", "", "unset", "64"},
			{"illumos.system.nfs.nfs3_max_transfer_size", "", "unset", "1048576"},
			{"illumos.system.nfs.nfs3_nra", "", "16", "32"},
			{"illumos.system.sata.sata_auto_online", "", "unset", "1"},
			{"illumos.system.sd.sd_io_time", "", "unset", "0x3c"},
			{"illumos.system.zfs.zfs_arc_max", "", "unset", "0x400000000"},
			{"any.zfs.compression", "zfs:tank/media", "inherit:off", "lz4"},
			{"any.zfs.dedup", "zfs:tank/media", "inherit:off", "on"},
			{"any.zfs.primarycache", "zfs:tank/media", "inherit:all", "metadata"},
			{"any.zfs.sync", "zfs:tank/media", "inherit:standard", "always"},
		},
		"macos": {
			{"macos.sysctl.net.inet.tcp.recvspace", "", "131072", "1048576"},
			{"macos.sysctl.net.inet.tcp.sendspace", "", "131072", "1048576"},
		},
	}[kind]
}

// box is a fake host of a kind, with the script of a plan for it.
type box struct {
	t                           *testing.T
	kind                        string
	list                        []change
	shell                       []string
	bin, root, fakes, dir, file string
	steps                       []Step
	inside                      int // programs called in the last run of the shell inside
}

// programs of the real system whose calls are places to be killed at, beside those of the fake.
var writers = []string{"mv", "cp", "mkdir", "ln", "rm", "sync"}

func newBox(t *testing.T, exe, kind string, shell []string, keep bool) *box {
	t.Helper()
	return newBoxOf(t, exe, kind, shell, keep, changes(kind), func(Step) bool { return true })
}

// newBoxOf has the steps of the plan that are picked.
func newBoxOf(t *testing.T, exe, kind string, shell []string, keep bool, list []change, pick func(Step) bool) *box {
	t.Helper()
	dir := ""
	if shell[0] == inside[0] {
		dir = labtest.MemoryDir(t) // what a case tests is not the disk
	} else {
		dir = t.TempDir()
	}
	b := &box{t: t, kind: kind, list: list, shell: shell, bin: dir + "/bin", root: dir + "/root", fakes: dir + "/state", dir: dir, file: dir + "/change.sh"}
	for _, d := range []string{b.bin, b.fakes, b.root + "/etc/cron.d", b.root + "/boot", b.root + "/kernel/drv", b.root + "/var/run", b.root + "/Library/LaunchDaemons"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.write("etc/system", "* a comment\nset nfs:nfs3_nra=16\n")
	b.write("etc/rc.conf", "hostname=\"freenas\"\nifconfig_ix0=\"inet 10.0.0.8 netmask 255.255.255.0\" # SAN\nsshd_enable=\"YES\"\n")
	b.write("etc/nsmb.conf", "[default]\nsigning_required = yes\n; another server's:\n[nas1]\nmc_prefer_wired=no\nsigning_required=no")
	b.write("etc/sysctl.conf", "# of the host\nnet.inet.tcp.recvbuf_inc=65536\n")
	if shell[0] != inside[0] {
		err := fake.Install(b.bin, exe)
		for _, n := range writers {
			err = errors.Join(err, os.Symlink(exe, filepath.Join(b.bin, n)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	k, ok := Find(kind)
	if !ok {
		t.Fatalf("no kind %s", kind)
	}
	s := Script{Plan: plan, Host: kind, State: dir + "/plans", Root: b.root, System: k.System(), Unprivileged: true}
	for _, c := range list {
		m, err := k.Mechanism(c.setting, c.target)
		if err != nil {
			t.Fatal(err)
		}
		m.Runtime = m.Runtime && !keep
		s.Steps = append(s.Steps, Step{Name: c.setting, From: c.from, To: c.to, Mechanism: m})
		if !keep {
			continue
		}
		keeper, ok := k.(Keeper)
		if !ok {
			continue
		}
		if m, at, err := keeper.Keep(c.setting, c.target); err == nil && at != "" {
			s.Steps = append(s.Steps, Step{Name: c.setting + "@" + at, From: "unset", To: c.to, Mechanism: m})
		}
	}
	s.Steps = slices.DeleteFunc(s.Steps, func(st Step) bool { return !pick(st) })
	b.steps = s.Steps
	text, err := s.Text()
	undo, err2 := s.UndoText()
	if err := errors.Join(err, err2, os.WriteFile(b.file, []byte(text), 0o600), os.WriteFile(dir+"/undo.sh", []byte(undo), 0o600)); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *box) write(file, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.root, file), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) run(env []string, args ...string) (string, int) {
	b.t.Helper()
	if b.shell[0] == inside[0] {
		return b.runInside(env, args...)
	}
	_ = os.Remove(b.dir + "/count") // not there before the first
	cmd := exec.Command(b.shell[0], append(append(slices.Clone(b.shell[1:]), b.file), args...)...)
	cmd.Env = append([]string{"PATH=" + b.bin + ":" + realPath, countFile + "=" + b.dir + "/count", fake.OS + "=" + b.kind, fake.State + "=" + b.fakes, fake.Root + "=" + b.root}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func (b *box) calls() int {
	b.t.Helper()
	if b.shell[0] == inside[0] {
		return b.inside
	}
	text, err := os.ReadFile(b.dir + "/count")
	n, err2 := strconv.Atoi(string(text))
	if err := errors.Join(err, err2); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// values are those that differ from a fresh host's, and the files that it reads when it starts, by
// name: what a plan may change, without the script's own records.
func (b *box) values() map[string]string {
	b.t.Helper()
	out := map[string]string{}
	for _, tree := range []string{b.fakes, b.root} {
		err := filepath.WalkDir(tree, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "job:") || strings.HasPrefix(d.Name(), "boot") || d.Name() == "linerate.boot" || d.Name() == "kern.bootsessionuuid" {
				return err
			}
			text, err := os.ReadFile(path)
			if err == nil && !b.fresh(d.Name(), string(text)) {
				out[strings.TrimPrefix(path, b.dir)] = string(text)
			}
			return err
		})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	return out
}

// fresh tells whether a value in the fake's state is the one that it would have without.
func (b *box) fresh(name, value string) bool {
	if rest, ok := strings.CutPrefix(name, "ix0:"); ok && rest != "mtu" {
		return value == "on"
	}
	for _, c := range b.list {
		last := c.setting[strings.LastIndex(c.setting, ".")+1:]
		switch {
		case value != c.from:
		case strings.HasPrefix(c.setting, "onefs.") && name == strings.ReplaceAll(inFake(Step{Name: c.setting}), "/", "~"):
			return true
		case strings.HasSuffix(name, last), strings.HasSuffix(name, "mtu") && last == "mtu", name == "dev.ix.0.fc" && last == "fc",
			name == "vfs.nfsd.maxthreads" && last == "threads", name == "tank:wcd" && last == "write_cache", name == "servers" && last == "servers":
			return true
		}
	}
	return false
}
