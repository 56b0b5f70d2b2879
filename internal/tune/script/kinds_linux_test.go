package script

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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

// box is a fake host of a kind, with the script of a plan for it.
type box struct {
	t                           *testing.T
	kind                        string
	shell                       []string
	bin, root, fakes, dir, file string
	steps                       []Step
}

// programs of the real system whose calls are places to be killed at, beside those of the fake.
var writers = []string{"mv", "cp", "mkdir", "ln", "rm", "sync"}

func newBox(t *testing.T, exe, kind string, shell []string, keep bool) *box {
	t.Helper()
	return newBoxOf(t, exe, kind, shell, keep, func(Step) bool { return true })
}

// newBoxOf has the steps of the plan that are picked.
func newBoxOf(t *testing.T, exe, kind string, shell []string, keep bool, pick func(Step) bool) *box {
	t.Helper()
	dir := t.TempDir()
	b := &box{t: t, kind: kind, shell: shell, bin: dir + "/bin", root: dir + "/root", fakes: dir + "/state", dir: dir, file: dir + "/change.sh"}
	for _, d := range []string{b.bin, b.fakes, b.root + "/etc/cron.d", b.root + "/boot", b.root + "/kernel/drv", b.root + "/var/run", b.root + "/Library/LaunchDaemons"} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b.write("etc/system", "* a comment\nset nfs:nfs3_nra=16\n")
	b.write("etc/sysctl.conf", "# of the host\nnet.inet.tcp.recvbuf_inc=65536\n")
	err := fake.Install(b.bin, exe)
	for _, n := range writers {
		err = errors.Join(err, os.Symlink(exe, filepath.Join(b.bin, n)))
	}
	if err != nil {
		t.Fatal(err)
	}
	k, ok := Find(kind)
	if !ok {
		t.Fatalf("no kind %s", kind)
	}
	s := Script{Plan: plan, Host: kind, State: dir + "/plans", Root: b.root, System: k.System(), Unprivileged: true}
	for _, c := range changes(kind) {
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
	if err == nil {
		err = os.WriteFile(b.file, []byte(text), 0o600)
	}
	if err != nil {
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
	for _, c := range changes(b.kind) {
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

// suite counts the cases of one kind in one shell, and tells which went wrong.
type suite struct {
	t     *testing.T
	exe   string
	kind  string
	shell []string
	cases int
	until time.Time // no more are begun then
}

// at is a fresh host, with the plan; before are the values of one.
func (s *suite) at(keep bool) (b *box, before map[string]string) {
	b = newBox(s.t, s.exe, s.kind, s.shell, keep)
	return b, b.values()
}

// same: the case is right where the host is as it was.
func (s *suite) same(b *box, before map[string]string, what string, out string) {
	s.cases++
	if now := b.values(); !maps.Equal(now, before) {
		s.t.Errorf("%s under %v, %s: %v, was %v\n%s", s.kind, s.shell, what, now, before, out)
	}
}

func (s *suite) undone(b *box, before map[string]string, what string) {
	out, code := b.run(nil, "undo")
	if code != 0 {
		s.t.Errorf("%s under %v, %s: undo ends with %d\n%s", s.kind, s.shell, what, code, out)
	}
	s.same(b, before, what, out)
}

// plainly: applied, twice, confirmed, undone, twice; with and without files.
func (s *suite) plainly() (calls int) {
	wait := []string{"apply", "5"}
	if s.kind == "onefs" {
		wait = wait[:1] // which takes no job for later
		b, before := s.at(false)
		out, code := b.run(nil, "apply", "5")
		if code != 1 || !strings.Contains(out, "nothing was changed") {
			s.t.Errorf("onefs under %v takes a job for later: %d\n%s", s.shell, code, out)
		}
		s.same(b, before, "no job for later", out)
	}
	for _, keep := range []bool{false, true} {
		b, before := s.at(keep)
		out, code := b.run(nil, wait...)
		if !Applied(plan, strings.Split(out, "\n")) || code != 0 {
			s.t.Fatalf("%s under %v: apply ends with %d\n%s", s.kind, s.shell, code, out)
		}
		calls = b.calls()
		applied := b.values()
		if out, code := b.run(nil, wait...); code != 0 || !maps.Equal(applied, b.values()) {
			s.t.Errorf("%s under %v, twice: %d %v\n%s", s.kind, s.shell, code, b.values(), out)
		}
		s.cases++
		if len(wait) == 2 {
			if out, code := b.run(nil, "confirm"); code != 0 || !maps.Equal(applied, b.values()) {
				s.t.Errorf("%s under %v, confirmed: %d\n%s", s.kind, s.shell, code, out)
			}
			s.cases++
		}
		s.undone(b, before, "undone")
		s.undone(b, before, "undone twice")
		if len(wait) == 2 {
			b.run(nil, wait...)
			out, _ = b.run(nil, "unconfirmed")
			s.same(b, before, "undone at its time", out)
		}
	}
	return calls
}

// apply waits to be confirmed where the kind can.
func (s *suite) apply() []string {
	if s.kind == "onefs" {
		return []string{"apply"}
	}
	return []string{"apply", "5"}
}

// failing: each step is refused, does nothing or fails in its program; nothing of the plan stays.
func (s *suite) failing() {
	b, _ := s.at(true)
	for _, step := range b.steps {
		for _, how := range []string{"refuse", "ignore"} {
			if time.Now().After(s.until) {
				return
			}
			b, before := s.at(true)
			out, code := b.run([]string{fake.How + "=" + how + ":" + inFake(step)}, "apply")
			if code == 4 {
				s.t.Errorf("%s under %v, %s %s: not put back\n%s", s.kind, s.shell, how, step.Name, out)
			}
			if code != 0 {
				s.same(b, before, how+" "+step.Name, out)
				continue
			}
			s.undone(b, before, how+" "+step.Name) // that step is none of the fake's values
		}
	}
	for _, program := range fake.Names() {
		for _, how := range []string{"empty", "denied", "missing", "half"} {
			if time.Now().After(s.until) {
				return
			}
			b, before := s.at(true)
			out, code := b.run([]string{fake.How + "=" + how + ":" + program}, "apply")
			if code != 0 && code != 4 {
				s.same(b, before, how+" "+program, out)
			}
			s.undone(b, before, how+" "+program+", undone")
		}
	}
}

// inFake is what the fake calls a step's value.
func inFake(s Step) string {
	name := s.Name[strings.LastIndex(s.Name, ".")+1:]
	switch {
	case strings.HasPrefix(s.Name, "freebsd.ifconfig.offload"):
		return "ix0:lro"
	case strings.HasPrefix(s.Name, "freebsd.ifconfig.mtu"):
		return "ix0:mtu"
	case strings.HasPrefix(s.Name, "illumos.dladm"):
		return "igb0.mtu"
	case s.Name == "freebsd.sysctl.dev.ix.N.fc":
		return "dev.ix.0.fc"
	case s.Name == "freebsd.nfsd.threads":
		return "vfs.nfsd.maxthreads"
	case strings.HasPrefix(s.Name, "onefs.network.") || strings.HasPrefix(s.Name, "onefs.file."):
		return "tank:" + map[string]string{"mtu": "mtu", "aggregation": "mode", "access_pattern": "pattern", "protection": "policy"}[name]
	case strings.HasPrefix(s.Name, "any.zfs."):
		return "tank/media:atime"
	case strings.HasPrefix(s.Name, "illumos.stmf."):
		return "tank:wcd"
	}
	if _, sysctl, ok := strings.Cut(s.Name, ".sysctl."); ok {
		return sysctl
	}
	return name
}

// killed: at so many of the programs that it calls, before and after, spread over all of them;
// undone by hand, or applied again and undone.
func (s *suite) killed(calls, every int) {
	n := 2*calls + 1
	stride := n/3 + 1
	for gcd(stride, n) != 1 {
		stride++
	}
	for i := range (n + every - 1) / every {
		at := i*stride%n - calls
		if at == 0 {
			continue
		}
		if time.Now().After(s.until) {
			s.t.Logf("its time is up: killed at %d of %d moments", i, n-1)
			return
		}
		kill := []string{killAt + "=" + strconv.Itoa(at)}
		b, before := s.at(at%2 == 0)
		b.run(kill, s.apply()...)
		s.undone(b, before, fmt.Sprintf("killed at %d", at))
		b, before = s.at(at%2 == 0)
		b.run(kill, s.apply()...)
		if out, code := b.run(nil, s.apply()...); code != 0 {
			s.t.Errorf("%s under %v, killed at %d, applied again: %d\n%s", s.kind, s.shell, at, code, out)
		}
		s.cases++
		b.run(kill, "undo")
		s.undone(b, before, fmt.Sprintf("killed at %d in undo", at))
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// restarted: what runs is gone, or is put back; what lasts is put back.
func (s *suite) restarted() {
	for i, keep := range []bool{false, true} {
		b, before := s.at(keep)
		b.run(nil, "apply")
		if err := fake.Reboot(s.kind, b.fakes, b.root, i+1); err != nil {
			s.t.Fatal(err)
		}
		out, code := b.run(nil, "undo")
		if code != 0 {
			s.t.Errorf("%s under %v, restarted: undo ends with %d\n%s", s.kind, s.shell, code, out)
		}
		for _, name := range []string{"/state/net.inet.tcp.recvbuf_inc", "/state/boot_time"} { // of the host's own start
			delete(before, name)
		}
		s.cases++
		for name, v := range b.values() {
			// A value of the loader's is in force until the next start, when its file is as it was.
			if was := before[name]; was != v && name != "/state/net.inet.tcp.recvbuf_inc" && name != "/state/boot_time" && name != "/state/kern.ipc.nmbclusters" {
				s.t.Errorf("%s under %v, restarted with files %v: %s is %q, was %q\n%s", s.kind, s.shell, keep, name, v, was, out)
			}
		}
	}
}

// between: somebody else changes a value; it is left alone, told, and restored by force.
func (s *suite) between() {
	for i, c := range changes(s.kind) {
		if time.Now().After(s.until) {
			return
		}
		b, before := s.at(false)
		b.run(nil, "apply")
		name, theirs := inFake(b.steps[i]), "77"
		if strings.HasPrefix(c.from, "inherit") || c.from == "unset" || strings.Contains(c.from, ",") || c.from == "true" || c.from == "cubic" || strings.Trim(c.from, "0123456789") != "" {
			continue // it has no third value in the fake
		}
		if name == "servers" || strings.HasSuffix(name, "mtu") {
			theirs = "1600"
		}
		path := filepath.Join(b.fakes, strings.ReplaceAll(name, "/", "~"))
		if _, err := os.Stat(path); err != nil {
			s.t.Fatalf("%s: %s is not in the state: %v", s.kind, name, err)
		}
		if err := os.WriteFile(path, []byte(theirs), 0o600); err != nil {
			s.t.Fatal(err)
		}
		out, code := b.run(nil, "undo")
		left, err := os.ReadFile(path)
		if code != 4 || err != nil || string(left) != theirs || !strings.Contains(out, "theirs "+theirs) {
			s.t.Errorf("%s under %v, %s by somebody else: %d %q %v\n%s", s.kind, s.shell, name, code, left, err, out)
		}
		s.cases++
		out, code = b.run(nil, "undo", "--force")
		if code != 0 {
			s.t.Errorf("%s under %v, %s forced: %d\n%s", s.kind, s.shell, name, code, out)
		}
		s.same(b, before, name+" forced", out)
	}
}

// The undo suite: every kind's whole plan, with what can befall it, under the shells that there
// are. Without the long switch it is killed at a few of its programs alone, under sh.
func TestKindsAreUndoneWhateverBefalls(t *testing.T) {
	long := labtest.Short(t.Name()) == ""
	until, every := time.Now().Add(2*time.Hour), 149
	exe := fakehost(t)
	var total atomic.Int64
	t.Cleanup(func() { t.Logf("%d cases of undo", total.Load()) })
	if end, ok := t.Deadline(); ok {
		until = end.Add(-time.Minute)
	}
	if long {
		every = 1
	}
	for _, shell := range [][]string{{"sh"}, {"bash"}, {"busybox", "sh"}, {"ksh"}} {
		for _, kind := range []string{"illumos", "freebsd", "macos", "onefs"} {
			t.Run(shell[0]+" "+kind, func(t *testing.T) {
				first := shell[0] == "sh"
				if !first {
					labtest.Long(t)
				}
				t.Parallel()
				if _, err := exec.LookPath(shell[0]); err != nil {
					t.Skipf("%s is not installed", shell[0])
				}
				s := &suite{t: t, exe: exe, kind: kind, shell: shell, until: until}
				calls := s.plainly()
				if long {
					s.restarted()
					s.between()
				}
				if long && first {
					s.failing()
				}
				if first {
					s.killed(calls, every)
				}
				t.Logf("%d cases, %d programs called", s.cases, calls)
				total.Add(int64(s.cases))
			})
		}
	}
}
