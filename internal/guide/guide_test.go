package guide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"linerate/internal/tune/setter"
)

func TestEveryEntryIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All() {
		if seen[s.ID] {
			t.Errorf("%s is there twice", s.ID)
		}
		seen[s.ID] = true
		for field, v := range map[string]string{"title": s.Title, "unit": s.Unit, "does": s.Does, "change_when": s.ChangeWhen, "value": s.Value, "acts_on": s.ActsOn} {
			if strings.TrimSpace(v) == "" {
				t.Errorf("%s: %s is empty", s.ID, field)
			}
		}
		if len(s.Defaults) == 0 || len(s.Sources) == 0 {
			t.Errorf("%s: no default or no source", s.ID)
		}
		for _, d := range s.Defaults {
			if d.Kernel == "" || d.Value == "" {
				t.Errorf("%s: a default without kernel or value", s.ID)
			}
		}
		if l := s.Risk.Level; l != "low" && l != "medium" && l != "high" || l != "low" && s.Risk.Why == "" {
			t.Errorf("%s: risk %+v", s.ID, s.Risk)
		}
	}
	if len(seen) < 186 {
		t.Errorf("only %d settings", len(seen))
	}
}

func TestWhatIsFromMemorySaysSo(t *testing.T) {
	verified := 0
	for _, s := range All() {
		if s.Verified {
			verified++
		} else if s.Unverified == "" {
			t.Errorf("%s is not verified and does not say what is from memory", s.ID)
		}
	}
	if verified < 100 {
		t.Errorf("only %d settings are verified", verified)
	}
}

func TestDefaultsAndJudgementsParse(t *testing.T) {
	for _, s := range All() {
		for _, d := range s.Defaults {
			if _, err := ParseRange(d.Kernel); err != nil {
				t.Errorf("%s: %v", s.ID, err)
			}
		}
		// Every release has one default: the ranges neither overlap nor leave a gap.
		for _, release := range []string{"2.6.32", "4.18", "5.3.18", "5.4", "6.1.99", "6.15.9", "6.16", "6.18.44", "7.1"} {
			r, err := ParseRelease(release)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, d := range s.Defaults {
				if g, err := ParseRange(d.Kernel); err == nil && g.Has(r) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%s has %d defaults on %s", s.ID, n, release)
			}
		}
		for _, j := range s.Judge {
			_, err1 := ParseCondition(j.When)
			_, err2 := ParseRange(j.Kernel)
			if err1 != nil || err2 != nil || !known(j.Status) || j.Status == WrongClaim || j.Why == "" {
				t.Errorf("%s: judgement %+v: %v, %v", s.ID, j, err1, err2)
			}
		}
		if s.Instead != "" {
			if _, ok := Find(s.Instead); !ok {
				t.Errorf("%s names %s instead, which is not there", s.ID, s.Instead)
			}
		}
	}
}

func TestFind(t *testing.T) {
	s, ok := Find("linux.sysctl.net.ipv4.tcp_rmem")
	if !ok || !s.NeverLower || s.Defaults[1].Value != "4096 131072 33554432" {
		t.Errorf("%+v, %v", s, ok)
	}
	if s, ok := Find("linux.sysctl.net.ipv4.none"); ok {
		t.Errorf("found %+v", s)
	}
}

func TestNearIDs(t *testing.T) {
	for id, want := range map[string]string{
		"linux.sysctl.net.ipv4.tcp_rmen": "linux.sysctl.net.ipv4.tcp_rmem", "linux.ethtool.rings": "linux.ethtool.ring", "linux.nic.mtu": "linux.link.mtu",
		"rps_cpu": "linux.queue.rps_cpus", "linux.block.nrrequests": "linux.block.nr_requests", "LINUX.IRQ.AFFINITIES": "linux.irq.affinity",
	} {
		if got := NearIDs(id, 3); len(got) != 3 || !slices.Contains(got, want) {
			t.Errorf("%s: %q, want %s among them", id, got, want)
		}
	}
	if got := NearIDs(strings.Repeat("x", 1<<20), 2); len(got) != 2 {
		t.Errorf("a very long id: %q", got)
	}
}

func TestIDsNameSystemMechanismAndSetting(t *testing.T) {
	id := regexp.MustCompile(`^(linux|windows|macos|illumos|freebsd|onefs|switch|array|any)\.[a-z]+\.?[A-Za-z0-9_.]*$`)
	for _, s := range All() {
		if !id.MatchString(s.ID) {
			t.Errorf("id %q", s.ID)
		}
		if !(setter.Sysctl{}).Owns(s.ID) {
			continue
		}
		if _, err := (setter.Sysctl{}).Shell(setter.Place{Setting: s.ID}, ""); err != nil {
			t.Errorf("%s: %v", s.ID, err)
		}
	}
}

// Every setting that a verdict can name must be here.
func TestExplainNamesOnlyKnownSettings(t *testing.T) {
	files, err := filepath.Glob("../explain/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources of explain: %v", err)
	}
	id := regexp.MustCompile(`^linux\.(sysctl|ethtool|link)\.[a-z0-9_.]*[a-z0-9]$`)
	found := 0
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			s, err := strconv.Unquote(lit.Value)
			if err != nil || !id.MatchString(s) {
				return true
			}
			found++
			if s == "linux.sysctl.net.ipv4.tcp_available_congestion_control" {
				return true // it can be read only
			}
			if _, ok := Find(s); !ok {
				t.Errorf("%s names %s, which is not in the guide", file, s)
			}
			return true
		})
	}
	if found < 5 {
		t.Errorf("found only %d setting ids in explain: does it still spell them out?", found)
	}
}
