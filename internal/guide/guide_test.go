package guide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
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
	if len(seen) < 15 {
		t.Errorf("only %d settings", len(seen))
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

func TestIDsBelongToAMechanism(t *testing.T) {
	for _, s := range All() {
		at := setter.Place{Setting: s.ID}
		switch {
		case setter.Sysctl{}.Owns(s.ID):
			if _, err := (setter.Sysctl{}).Shell(at, ""); err != nil {
				t.Errorf("%s: %v", s.ID, err)
			}
		case setter.Features{}.Owns(s.ID), s.ID == "linux.link.mtu": // the MTU is an operator's to change
		default:
			t.Errorf("%s belongs to no mechanism", s.ID)
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
			if _, ok := Find(s); !ok {
				t.Errorf("%s names %s, which is not in settings.yaml", file, s)
			}
			return true
		})
	}
	if found < 5 {
		t.Errorf("found only %d setting ids in explain: does it still spell them out?", found)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"- id: a\n  tilte: b\n", "id: a\n", "- [\n"} {
		if got, err := parse([]byte(text)); err == nil {
			t.Errorf("%q: %+v and no error", text, got)
		}
	}
}
