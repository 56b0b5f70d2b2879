package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

func TestFaultsUseTheVocabulary(t *testing.T) {
	limiters := map[model.LimiterID]model.Limiter{}
	for _, l := range model.Limiters() {
		limiters[l.ID] = l
	}
	var ids []string
	for _, f := range Faults() {
		ids = append(ids, f.ID)
		l, ok := limiters[f.Limiter]
		if !ok || l.Fix != f.FixKind {
			t.Errorf("%s: limiter %q, fix %q; the vocabulary has %q", f.ID, f.Limiter, f.FixKind, l.Fix)
		}
		if f.Doc == "" || f.inject == nil || f.cure == nil {
			t.Errorf("%s is not whole", f.ID)
		}
		if rate, _, mtu := f.Topology(demoNet()).Ceiling("client1", "server1", "eth0"); rate <= 0 || mtu < 1500 {
			t.Errorf("%s: its topology carries %s at MTU %d", f.ID, rate, mtu)
		}
		if got, err := FindFault(f.ID); err != nil || got.ID != f.ID {
			t.Errorf("find %s: %s, %v", f.ID, got.ID, err)
		}
	}
	want := []string{"window", "sendbuf", "offload", "mtu", "loss", "slow-link", "app", "cpu", "none"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error(diff)
	}
	if _, err := FindFault("nope"); err == nil || !strings.Contains(err.Error(), "window") {
		t.Errorf("unknown fault: %v", err)
	}
}

func TestPlaceRoundTrip(t *testing.T) {
	p := place{pid: 12, start: 34, host: "client1", lab: "lab-1-2-ab", cpus: []int{0, 3}, cgroups: []kernel.Cgroup{"/a", "/b"}}
	argv := append(p.argv(), "cmd", "--flag")
	if argv[0] != "lab-enter" {
		t.Fatalf("argv %q", argv)
	}
	got, command, err := parsePlace(argv[1:])
	if err != nil || !cmp.Equal(got, p, cmp.AllowUnexported(place{})) || !slices.Equal(command, []string{"cmd", "--flag"}) {
		t.Errorf("%+v %q %v", got, command, err)
	}
	for _, bad := range [][]string{nil, {"--pid", "1"}, {"--pid", "0", "--", "x"}, {"--cpus", "a", "--pid", "1", "--", "x"}, {"--nope"}} {
		if _, _, err := parsePlace(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestLabOf(t *testing.T) {
	for name, want := range map[string]string{
		"lab-1-22-0a":                     "lab-1-22-0a",
		"linerate-lab-1-22-0a-client1":    "lab-1-22-0a",
		"linerate-lab-1-22-0a-odd-name-1": "lab-1-22-0a",
		"linerate-lab-1":                  "",
		"something":                       "",
	} {
		if got, _ := labOf(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !ownerLives("lab-x-y-z") {
		t.Error("an id that cannot be read counts as dead")
	}
}

func TestStateDir(t *testing.T) {
	tmp := t.TempDir()
	env := map[string]string{"XDG_RUNTIME_DIR": filepath.Join(tmp, "run")}
	get := func(k string) string { return env[k] }
	if d, err := StateDir(get, 7, tmp); err != nil || d != filepath.Join(tmp, "run", "linerate") {
		t.Errorf("%s %v", d, err)
	}
	if err := os.Chmod(filepath.Join(tmp, "run", "linerate"), 0o755); err != nil {
		t.Fatal(err)
	}
	if d, err := StateDir(get, 7, tmp); err != nil || d != filepath.Join(tmp, "linerate-7") {
		t.Errorf("open to others: %s %v", d, err)
	}
	env = map[string]string{outerUID: "9"}
	if d, err := StateDir(get, 0, tmp); err != nil || d != filepath.Join(tmp, "linerate-9") {
		t.Errorf("in a user namespace: %s %v", d, err)
	}
}
