package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/tune/setter"
)

type liveLinks struct{}

func (liveLinks) Read(name string) (kernel.LinkState, error) { return kernel.ReadLink(name) }
func (liveLinks) SetMTU(name string, mtu int) error          { return kernel.SetMTU(name, mtu) }
func (liveLinks) SetTxQueueLen(name string, packets int) error {
	return kernel.SetTxQueueLen(name, packets)
}

func liveInterfaces(ctx context.Context) (map[int]Interface, error) {
	links, err := kernel.Live{}.Links(ctx)
	all := map[int]Interface{}
	for _, l := range links {
		all[l.Index] = InterfaceOf(l, kernel.InterfaceNode("", l))
	}
	return all, err
}

// renameTuner changes the MTU and a sysctl of an interface.
func renameTuner(t *testing.T, name string) (*Tuner, model.Plan) {
	t.Helper()
	find := func(device string) (string, error) {
		return kernel.FindDevice(context.Background(), kernel.Live{}, device)
	}
	id := thisBoot(t)
	tn := &Tuner{
		Dir: filepath.Join(t.TempDir(), "state"), BootID: id, Interfaces: liveInterfaces,
		Setters: []setter.Setter{setter.Sysctl{}, setter.Link{Links: liveLinks{}, Interface: find}},
	}
	return tn, model.Plan{V: model.PlanVersion, ID: "ren", BootID: id, Changes: []model.Change{
		{Setting: setter.MTUSetting, Target: "if:" + name, From: "1500", To: "4000"}, {Setting: "linux.sysctl.net.ipv4.conf." + name + ".rp_filter", From: "0", To: "2"},
	}}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	labtest.Needs(t, "ip")
	if out, err := kernel.Exec(t.Context(), "ip", "link", "set", "dev", from, "name", to).CombinedOutput(); err != nil {
		t.Fatalf("rename %s: %v: %s", from, err, out)
	}
}

// wantMTU also checks the sysctl of the interface.
func wantMTU(t *testing.T, name string, mtu int, filter string) {
	t.Helper()
	now, err := kernel.ReadLink(name)
	text, fileErr := os.ReadFile("/proc/sys/net/ipv4/conf/" + name + "/rp_filter")
	if got := strings.TrimSpace(string(text)); errors.Join(err, fileErr) != nil || now.MTU != mtu || got != filter {
		t.Errorf("%s: MTU %d, rp_filter %s (%v, %v), want %d and %s", name, now.MTU, got, err, fileErr, mtu, filter)
	}
}

// An interface without an address of hardware was renamed, and another one has
// its name and its values since: undo finds the one that it changed, the script
// touches neither.
func TestInNamespaceRenamed(t *testing.T) {
	inNamespace(t)
	ownSys(t)
	addVeth(t, "ren0")
	addVeth(t, "ren1")
	filters := func(names ...string) {
		for _, n := range names {
			if err := os.WriteFile("/proc/sys/net/ipv4/conf/"+n+"/rp_filter", []byte("0"), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	filters("ren0", "ren1")
	tn, p := renameTuner(t, "ren0")
	mustApply(t, tn, p)
	rename(t, "ren0", "ours")
	rename(t, "ren1", "ren0")
	if err := errors.Join(kernel.SetMTU("ren0", 4000), os.WriteFile("/proc/sys/net/ipv4/conf/ren0/rp_filter", []byte("2"), 0)); err != nil {
		t.Fatal(err)
	}
	out, err := runScript(filepath.Dir(tn.Dir), "--force")
	if err == nil || !strings.Contains(string(out), "ren0 is not the interface that it was") {
		t.Errorf("undo.sh: %v\n%s", err, out)
	}
	wantMTU(t, "ren0", 4000, "2")
	wantMTU(t, "ours", 4000, "2")
	mustUndo(t, tn, "")
	wantMTU(t, "ren0", 4000, "2")
	wantMTU(t, "ours", 1500, "0")
	wantOpen(t, tn, 0)
}

// One that is gone keeps its entries open, though another has its name; only
// --force closes them, and nothing is written.
func TestInNamespaceGoneAndAnother(t *testing.T) {
	inNamespace(t)
	addVeth(t, "gone0")
	tn, p := renameTuner(t, "gone0")
	p.Changes = p.Changes[:1]
	mustApply(t, tn, p)
	if err := kernel.DeleteInterface("gone0"); err != nil {
		t.Fatal(err)
	}
	addVeth(t, "gone0")
	if err := kernel.SetMTU("gone0", 4000); err != nil {
		t.Fatal(err)
	}
	if _, err := tn.Undo(t.Context(), ""); !errors.Is(err, kernel.ErrNoDevice) || !strings.Contains(err.Error(), "--force closes") {
		t.Errorf("%v", err)
	}
	wantOpen(t, tn, 1)
	res, err := tn.UndoWith(t.Context(), UndoRequest{Force: true})
	if err != nil || len(res.Entries) != 1 || res.Entries[0].State != Closed || len(res.Notes) != 1 {
		t.Errorf("%+v, %v", res, err)
	}
	if now, err := kernel.ReadLink("gone0"); err != nil || now.MTU != 4000 {
		t.Errorf("the other one: %+v, %v", now, err)
	}
	wantOpen(t, tn, 0)
	if err := kernel.DeleteInterface("gone0"); err != nil {
		t.Fatal(err)
	}
}

// One that is made anew has everything of the one that is gone: number, name and address. It is
// another, and neither undo nor the script writes to it.
func TestInNamespaceMadeAnewWithTheSameNumber(t *testing.T) {
	inNamespace(t)
	ownSys(t)
	labtest.Needs(t, "ip")
	make := func() {
		t.Helper()
		out, err := kernel.Exec(t.Context(), "ip", "link", "add", "name", "anew0", "index", "4711", "address", "02:11:22:33:44:55", "type", "veth", "peer", "name", "anew1").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	make()
	tn, p := renameTuner(t, "anew0")
	p.Changes = p.Changes[:1]
	mustApply(t, tn, p)
	if err := kernel.DeleteInterface("anew0"); err != nil {
		t.Fatal(err)
	}
	make()
	if err := kernel.SetMTU("anew0", 4000); err != nil {
		t.Fatal(err)
	}
	if out, err := runScript(filepath.Dir(tn.Dir), "--force"); err == nil || !strings.Contains(string(out), "is another interface") {
		t.Errorf("undo.sh: %v\n%s", err, out)
	}
	if _, err := tn.Undo(t.Context(), ""); !errors.Is(err, kernel.ErrNoDevice) || !strings.Contains(err.Error(), "has its number") {
		t.Errorf("%v", err)
	}
	if now, err := kernel.ReadLink("anew0"); err != nil || now.MTU != 4000 {
		t.Errorf("the other one: %+v, %v", now, err)
	}
	wantOpen(t, tn, 1)
	if err := kernel.DeleteInterface("anew0"); err != nil {
		t.Fatal(err)
	}
}
