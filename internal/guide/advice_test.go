package guide

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestEveryAdviceIsWhole(t *testing.T) {
	ids, memory := map[string]bool{}, map[string]bool{}
	for _, s := range All() {
		ids[s.ID], memory[s.ID] = true, !s.Verified
	}
	keys := map[string]bool{}
	for _, g := range Guides() {
		for _, k := range append([]string{g.Key}, g.Aliases...) {
			if keys[k] {
				t.Errorf("two guides answer to %q", k)
			}
			keys[k] = true
		}
		if g.Title == "" || g.By == "" || g.Date == "" || g.OS == "" || g.About == "" || len(g.Advice) == 0 {
			t.Errorf("%s: something is empty", g.Key)
		}
		for _, a := range g.Advice {
			if !ids[a.Setting] {
				t.Errorf("%s advises on %s, which is no setting of the guide", g.Key, a.Setting)
			}
			if memory[a.Setting] && a.Unverified == "" {
				t.Errorf("%s, %s: the setting is not verified, and the advice does not say so", g.Key, a.Setting)
			}
			if _, err := ParseRange(a.Kernels); err != nil {
				t.Errorf("%s, %s: %v", g.Key, a.Setting, err)
			}
			if !known(a.Status) || a.Status == WrongClaim || a.Value == "" || a.Where == "" || a.Why == "" {
				t.Errorf("%s, %s: %+v", g.Key, a.Setting, a)
			}
		}
		for _, c := range g.Claims {
			if c.Status != WrongClaim || c.Says == "" || c.Where == "" || c.Why == "" {
				t.Errorf("%s: claim %+v", g.Key, c)
			}
		}
	}
	for _, c := range Conflicts() {
		for _, id := range c.Settings {
			if !ids[id] {
				t.Errorf("conflict %q names %s, which is no setting of the guide", c.Topic, id)
			}
		}
	}
	if n := len(Conflicts()); n != 8 {
		t.Errorf("%d conflicts, want 8", n)
	}
}

// The five papers have 48 known mistakes; each must be corrected somewhere.
func TestEveryMistakeIsCorrected(t *testing.T) {
	found := map[string]int{}
	for _, g := range Guides() {
		for _, a := range g.Advice {
			for _, m := range a.Mistakes {
				found[m]++
				if a.Status == Valid {
					t.Errorf("%s corrects %s and calls it valid", a.Setting, m)
				}
			}
		}
		for _, c := range g.Claims {
			for _, m := range c.Mistakes {
				found[m]++
			}
		}
	}
	total := 0
	for paper, n := range map[string]int{"atto": 10, "dell": 10, "nappit": 10, "sfc": 6, "caltech": 12} {
		for i := 1; i <= n; i++ {
			total++
			if id := fmt.Sprintf("%s-%d", paper, i); found[id] == 0 {
				t.Errorf("mistake %s is not corrected", id)
			}
		}
	}
	if total != 48 || len(found) != total {
		t.Errorf("%d mistakes corrected of %d", len(found), total)
	}
}

// What show says of a value, audit says of the same value on a host.
func TestAuditAgreesWithAdvice(t *testing.T) {
	b := openBook()
	release := Release{6, 18}
	n := 0
	for _, g := range Guides() {
		for _, a := range g.Advice {
			in, err := ParseRange(a.Kernels)
			if err != nil || !in.Has(release) || numbers(a.Value) == nil || !strings.HasPrefix(a.Setting, "linux.sysctl.net.") {
				continue
			}
			n++
			p := placed{assignment: assignment{id: a.Setting, name: a.Setting, value: a.Value}}
			got, m := b.resolve("linux", a.Setting)
			if o := b.judge(got, m, p, linux(nil), release); o.status != a.Status && !sameAdvice(a.Status, o.status) {
				t.Errorf("%s: %s = %s is %s, the audit says %s: %s", g.Key, a.Setting, a.Value, a.Status, o.status, o.why)
			}
		}
	}
	if n < 25 {
		t.Errorf("compared only %d", n)
	}
}

// sameAdvice: "leave the default" is valid advice and a line without effect.
func sameAdvice(advice, found Status) bool { return advice == Valid && found == NoOp }

func TestFindGuide(t *testing.T) {
	for _, key := range []string{"caltech-40ge", "CIT", "dell", "napp-it"} {
		if _, ok := FindGuide(key); !ok {
			t.Errorf("no guide %q", key)
		}
	}
	if g, ok := FindGuide("nobody"); ok {
		t.Errorf("found %s", g.Key)
	}
}

func TestSearch(t *testing.T) {
	for name, want := range map[string]string{
		"tcp_rmem":                       "linux.sysctl.net.ipv4.tcp_rmem",
		"net.ipv4.tcp_rmem":              "linux.sysctl.net.ipv4.tcp_rmem",
		"linux.sysctl.net.ipv4.tcp_rmem": "linux.sysctl.net.ipv4.tcp_rmem",
		"TcpAckFrequency":                "windows.tcp.delayed_ack",
		"nfs:nfs4_nra":                   "illumos.system.nfs.nfs3_nra",
		"mtu":                            "linux.link.mtu",
	} {
		found := Search(name, "linux")
		if len(found) == 0 || found[0].ID != want {
			t.Errorf("%s: %d found, want %s first", name, len(found), want)
		}
	}
	if got := Search("tcp_rmen", "linux"); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	if near := Near("tcp_rmen", 3); !slices.Contains(near, "tcp_rmem") {
		t.Errorf("near tcp_rmen: %v", near)
	}
	if got := Search("delayed_ack", "darwin"); len(got) < 2 || got[0].OS() != "macos" {
		t.Errorf("delayed_ack on a Mac: %v", got)
	}
}

// README says how much the guide holds.
func TestReadmeCountsTheGuide(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("| %d settings, ", len(All())); !strings.Contains(string(b), want) {
		t.Errorf("README.md has no %q in its row on guide", want)
	}
	// The five papers; what else there is are guides.
	if n := len(Guides()) - 5; n != 9 || !strings.Contains(string(b), "five papers and nine guides") {
		t.Errorf("%d guides beside the papers: say so in README.md and here", n)
	}
}

// known tells whether the data may use a status.
func known(s Status) bool { return s != NotKnown && slices.Contains(Statuses(), s) }
