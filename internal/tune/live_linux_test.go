package tune

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// liveEnv marks the process that TestLive starts in namespaces of its own.
const liveEnv = "LINERATE_TUNE_TEST_LIVE"

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
	for _, name := range []string{"Undo", "ReadOnlyEtc", "Renamed", "GoneAndAnother"} {
		ended := func(how string) bool { return bytes.Contains(out, []byte("--- "+how+": TestInNamespace"+name)) }
		if !ended("PASS") && !ended("SKIP") {
			t.Errorf("%s did not pass", name)
		}
	}
	if t.Failed() || err != nil {
		t.Fatalf("in a namespace: %v\n%s", err, out)
	}
	labtest.Inside(t, out)
}

type liveOffloads struct{}

func (liveOffloads) Get(ifname string) (map[string]bool, error) { return kernel.ReadFeatures(ifname) }
func (liveOffloads) Set(ifname string, on map[string]bool) error {
	return kernel.SetFeatures(ifname, on)
}
func liveInterface(device string) (string, error) { return strings.TrimPrefix(device, "if:"), nil }
func liveSetters() (s setter.Sysctl, f setter.Features) {
	return setter.Sysctl{}, setter.Features{Offloads: liveOffloads{}, Interface: liveInterface}
}

func inNamespace(t *testing.T) {
	t.Helper()
	if os.Getenv(liveEnv) == "" {
		t.Skip("runs inside TestLive")
	}
}

const liveRmem, liveFeatures = "4096 131072 6291456", "tx-generic-segmentation=on tx-tcp-segmentation=on"

func TestInNamespaceConform(t *testing.T) {
	inNamespace(t)
	addVeth(t, "conf0")
	s, f := liveSetters()
	settertest.Conform(t, settertest.Case{
		Setter: s, At: setter.Place{Setting: rmem},
		A: liveRmem, Messy: " 4096  131072\t6291456", B: "4096 131072 8388608",
		Absent: []setter.Place{{Setting: "linux.sysctl.net.ipv4.tcp_no_such_thing"}},
	})
	settertest.Conform(t, settertest.Case{
		Setter: f, At: setter.Place{Setting: setter.FeaturesSetting, Target: "if:conf0"},
		A: liveFeatures, Messy: "tx-tcp-segmentation=on  tx-generic-segmentation=on", B: "tx-generic-segmentation=off tx-tcp-segmentation=off",
		Absent: []setter.Place{{Setting: setter.FeaturesSetting, Target: "if:none0"}},
	})
}

// addVeth makes a pair, which goes with the namespace.
func addVeth(t *testing.T, name string) {
	t.Helper()
	if err := kernel.AddVeth(kernel.Veth{Name: name, Peer: name + "p", PeerPID: os.Getpid(), MTU: 1500}); err != nil {
		t.Fatal(err)
	}
}

// TestInNamespaceUndo applies a plan to the running kernel and restores it by
// Undo and by undo.sh.
func TestInNamespaceUndo(t *testing.T) {
	inNamespace(t)
	ownSys(t)
	addVeth(t, "undo0")
	s, f := liveSetters()
	ctx := context.Background()
	places := []setter.Place{{Setting: rmem}, {Setting: setter.FeaturesSetting, Target: "if:undo0"}}
	setters, original, changed := []setter.Setter{s, f}, []string{liveRmem, liveFeatures}, []string{"4096 131072 8388608", "tx-generic-segmentation=off tx-tcp-segmentation=off"}
	id := thisBoot(t)
	p := model.Plan{V: model.PlanVersion, ID: "live", BootID: id}
	for i, at := range places {
		if err := setters[i].Write(ctx, at, original[i]); err != nil {
			t.Fatal(err)
		}
		p.Changes = append(p.Changes, model.Change{Setting: at.Setting, Target: at.Target, From: original[i], To: changed[i]})
	}
	check := func(when string, want []string) {
		for i, at := range places {
			if got, err := setters[i].Read(ctx, at, original[i]); got != want[i] {
				t.Errorf("%s: %s is %q, %v, want %q", when, at, got, err, want[i])
			}
		}
	}
	tn := &Tuner{Dir: filepath.Join(t.TempDir(), "state"), BootID: id, Setters: setters, Program: thisProgram(t)}
	mustApply(t, tn, p)
	check("applied", changed)
	mustUndo(t, tn, "live")
	check("undone", original)
	for what, path := range map[string]string{"this machine's programs": "", "a shell and coreutils": t.TempDir()} {
		tn.Path = path
		mustApply(t, tn, p)
		run := func() (string, error) { return runScript(filepath.Dir(tn.Dir)) }
		if path != "" {
			run = func() (string, error) { return runBare(t, tn) }
		}
		if out, err := run(); err != nil {
			t.Errorf("undo.sh with %s: %v\n%s", what, err, out)
		}
		check("after undo.sh with "+what, original)
		mustUndo(t, tn, "")
	}
}

// ownSys has /sys show this namespace; the first test that asks mounts it.
func ownSys(t *testing.T) {
	t.Helper()
	if err := kernel.MountOwnSys(); err != nil && !errors.Is(err, syscall.EBUSY) {
		t.Fatal(err)
	}
}

func mounted(t *testing.T, m kernel.Mount) {
	t.Helper()
	if err := m.Do(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(m.Target, 0); err != nil {
			t.Error(err)
		}
	})
}

// A real disk that is full: nothing is changed. The journal's file system has
// room for its directory, not for an entry.
func TestInNamespaceFullDisk(t *testing.T) {
	inNamespace(t)
	dir := sysctlTree(t)
	tn := sysctlTuner(dir)
	mounted(t, kernel.Mount{Source: "full", Target: tn.Dir, Type: "tmpfs", Options: "size=16k,mode=700"})
	if err := os.WriteFile(filepath.Join(tn.Dir, "theirs"), make([]byte, 16<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tn.Apply(context.Background(), sysctlPlan(boot)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want no space left", err)
	}
	if got := sysctlValues(t, dir); got != "old value;old value;" {
		t.Errorf("left %s", got)
	}
}

// A read-only /etc is seen before anything is written or recorded.
func TestInNamespaceReadOnlyEtc(t *testing.T) {
	inNamespace(t)
	dir, tn := persisting(t, boot)
	mounted(t, kernel.Mount{Source: "none", Target: filepath.Join(dir, "etc"), Type: "tmpfs", ReadOnly: true})
	mustApply(t, tn, sysctlPlan(boot))
	if _, err := tn.Persist(context.Background(), "p1", false); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("%v, want read-only", err)
	}
	wantOpen(t, tn, 2)
	mustUndo(t, tn, "")
}
