package script

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
	"linerate/internal/systems/fake"
)

// suite counts the cases of one kind in one shell, and tells which went wrong.
type suite struct {
	t     *testing.T
	exe   string
	kind  string
	shell []string
	list  []change       // the plan
	cases map[string]int // by what befalls
	fault string         // what does now
	until time.Time      // no more are begun then
	last  *box           // of the case before
	cut   string         // which cases are not counted, since its time was up
}

// late tells whether its time is up, and keeps how far it came.
func (s *suite) late(came string) bool {
	if time.Now().Before(s.until) {
		return false
	}
	s.cut += s.kind + ": its time was up (-timeout): " + came + "\n"
	return true
}

// count is one more case.
func (s *suite) count() { s.cases[s.fault]++ }

// at is a fresh host, with the plan; before are the values of one.
func (s *suite) at(keep bool) (b *box, before map[string]string) {
	if s.last != nil && s.shell[0] == inside[0] {
		_ = os.RemoveAll(s.last.dir) // its test removes it else
	}
	b = newBoxOf(s.t, s.exe, s.kind, s.shell, keep, s.list, func(Step) bool { return true })
	s.last = b
	return b, b.values()
}

// same: the case is right where the host is as it was.
func (s *suite) same(b *box, before map[string]string, what string, out string) {
	s.count()
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
	s.fault = "nothing, or twice"
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
		s.count()
		if len(wait) == 2 {
			if out, code := b.run(nil, "confirm"); code != 0 || !maps.Equal(applied, b.values()) {
				s.t.Errorf("%s under %v, confirmed: %d\n%s", s.kind, s.shell, code, out)
			}
			s.count()
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
	s.fault = "fail at a step"
	b, _ := s.at(true)
	for _, step := range b.steps {
		for _, how := range []string{"refuse", "ignore"} {
			if s.late("fails until " + step.Name) {
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
			if s.late("fails until " + program) {
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
	s.fault = "kill -9"
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
		if s.late(fmt.Sprintf("killed at %d moments, of %d", i, n-1)) {
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
		s.count()
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
	s.fault = "reboot"
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
		s.count()
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
	s.fault = "three-way"
	for i, c := range changes(s.kind) {
		if s.late("changed by somebody else until " + c.setting) {
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
		s.count()
		out, code = b.run(nil, "undo", "--force")
		if code != 0 {
			s.t.Errorf("%s under %v, %s forced: %d\n%s", s.kind, s.shell, name, code, out)
		}
		s.same(b, before, name+" forced", out)
	}
}

// The undo suite: every kind's whole plan, with what can befall it, in the shell inside; with the
// long switch all of it, and else killed at some of its programs.
func TestKindsAreUndoneWhateverBefalls(t *testing.T) {
	long := labtest.Short(t.Name()) == ""
	until, every := time.Now().Add(2*time.Hour), 29
	if end, ok := t.Deadline(); ok {
		until = end.Add(-time.Minute)
	}
	if long {
		every = 1
	}
	labtest.Needs(t, labtest.Root) // a host's record has to be root's
	var all sync.Map
	t.Cleanup(func() { t.Log(table(&all)) })
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := &suite{t: t, kind: kind, shell: inside, list: changes(kind), until: until, cases: map[string]int{}}
			calls := s.plainly()
			s.restarted()
			s.between()
			if long {
				s.failing()
			}
			s.killed(calls, every)
			all.Store(kind, s)
		})
	}
}

// Each other setting of the papers, in a plan of its own: applied, undone, and killed at each of its programs.
func TestEachOtherSettingOfThePapersIsUndone(t *testing.T) {
	labtest.Needs(t, labtest.Root) // a host's record has to be root's
	every := 7
	if labtest.Short(t.Name()) == "" {
		every = 1
	}
	for _, kind := range kinds {
		for _, c := range others(kind) {
			t.Run(c.setting, func(t *testing.T) {
				t.Parallel()
				s := &suite{t: t, kind: kind, shell: inside, list: []change{c}, until: time.Now().Add(time.Hour), cases: map[string]int{}}
				calls := s.plainly()
				s.killed(calls, every)
				b, before := s.at(false)
				if b.run(nil, s.apply()...); maps.Equal(b.values(), before) {
					t.Error("it changes nothing, so its undo proves nothing")
				}
			})
		}
	}
}

var kinds = []string{"illumos", "freebsd", "macos", "onefs"}

// table is how many cases there were, by kind and what befell.
func table(all *sync.Map) string {
	faults := []string{"nothing, or twice", "fail at a step", "kill -9", "reboot", "three-way"}
	out := "\n| system | " + strings.Join(faults, " | ") + " | cases |\n|---|" + strings.Repeat("---|", len(faults)+1) + "\n"
	total, cut := 0, ""
	for _, kind := range kinds {
		v, ok := all.Load(kind)
		if !ok {
			cut += kind + ": did not end\n"
			continue
		}
		s, _ := v.(*suite)
		cases, sum := s.cases, 0
		cut += s.cut
		out += "| " + kind + " |"
		for _, f := range faults {
			out += fmt.Sprintf(" %d |", cases[f])
			sum += cases[f]
		}
		out += fmt.Sprintf(" %d |\n", sum)
		total += sum
	}
	return out + fmt.Sprintf("%d cases of undo\n", total) + cut
}

// The shells that hosts have. Each has one kind of its own that short tests try it with.
func realShells() [][]string { return [][]string{{"sh"}, {"bash"}, {"busybox", "sh"}, {"ksh"}} }

func lacksShell(t *testing.T, shell []string) {
	t.Helper()
	if _, err := exec.LookPath(shell[0]); err != nil {
		t.Skipf("%s is not installed", shell[0])
	}
}

// Killed under real shells: each of them with one kind, and each kind under one of them. What all
// kinds leave under all shells is what the shell inside leaves, which is killed at many more.
func TestKindsKilledUnderRealShells(t *testing.T) {
	t.Parallel()
	exe := fakehost(t)
	for i, shell := range realShells() {
		t.Run(shell[0]+" "+kinds[i], func(t *testing.T) {
			labtest.Long(t) // TestKilledAnywhere has some
			lacksShell(t, shell)
			s := &suite{t: t, exe: exe, kind: kinds[i], shell: shell, list: changes(kinds[i]), until: time.Now().Add(time.Hour), cases: map[string]int{}}
			b, _ := s.at(true)
			b.run(nil, s.apply()...)
			s.killed(b.calls(), 67)
			t.Logf("%v, %d programs called\n%s", s.cases, b.calls(), s.cut)
		})
	}
}

// The shell inside does what each real one does: it prints the same, calls as many programs and
// leaves the same, whatever is asked of a script, also where it is killed. Each kind is tried under
// the shell that is nearest to its own host's and under one that is not, and each shell with two
// kinds: what a shell may do otherwise is in the part that all scripts have, or in one kind's.
func TestTheShellInsideAgrees(t *testing.T) {
	t.Parallel()
	exe := fakehost(t)
	for i, shell := range realShells() {
		for k, kind := range agreeing()[i] {
			t.Run(shell[0]+" "+kind, func(t *testing.T) {
				if k > 0 {
					labtest.Long(t)
				}
				lacksShell(t, shell)
				agrees(t, exe, kind, shell, (i+k)%2 == 0)
			})
		}
	}
}

// agreeing are the kinds that each of realShells is tried with, the nearest first.
func agreeing() [][2]string {
	return [][2]string{{"freebsd", "onefs"}, {"macos", "illumos"}, {"onefs", "freebsd"}, {"illumos", "macos"}}
}

func agrees(t *testing.T, exe, kind string, shell []string, keep bool) {
	t.Helper()
	ours, theirs := newBox(t, exe, kind, inside, keep), newBox(t, exe, kind, shell, keep)
	wait := []string{"apply", "5"}
	one := (&suite{kind: kind}).apply()
	for i, verb := range [][]string{wait, one, {"status"}, one, {"confirm"}, {"undo"}, {"undo"}, one, {"unconfirmed"}, one, one, {"undo"}} {
		var env []string
		if i == 9 {
			env = []string{killAt + "=75"}
		}
		out, code := ours.run(env, verb...)
		want, wantCode := theirs.run(env, verb...)
		out, want = strings.ReplaceAll(out, ours.dir, "DIR"), strings.ReplaceAll(want, theirs.dir, "DIR")
		if out != want || code != wantCode || ours.calls() != theirs.calls() || !maps.Equal(ours.values(), theirs.values()) {
			t.Errorf("%s, %v: %d, %d calls, %v has %d, %d calls\n%s\n%v:\n%s\n%v\n%v: %v",
				kind, verb, code, ours.calls(), shell, wantCode, theirs.calls(), out, shell, want, ours.values(), shell, theirs.values())
		}
	}
}
