package script

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/guide"
	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/systems"
)

// papersHead is above the table in docs/systems.md.
const papersHead = "| setting | of | read | the guide judges it | planned, scripted, applied | undone in a test |\n|---|---|---|---|---|---|\n"

// recorded are the facts of the imitated host of a system.
func recorded(t *testing.T, name string) *model.Facts {
	t.Helper()
	s, ok := systems.Find(name)
	if !ok {
		return &model.Facts{}
	}
	b, err := os.ReadFile("../../systems/testdata/" + name + "-fake.frames")
	if err != nil {
		t.Fatal(err)
	}
	f, err := systems.Read(s, b, name, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// targets are one of each form that a setting may be of.
var targets = []string{"", "if:igb0", "if:ix0", "if:en0", "guid:11111111-2222-3333-4444-00000000000b", "InternetCustom", "client", "server", "zfs:tank/media", "600144F0C73A8B0000005A1B2C3D0001", "/ifs/data", "groupnet0.subnet0", "groupnet0.subnet0.pool0"}

// changeable is whether a kind changes a setting, and why not.
func changeable(k Kind, setting string) (ok bool, why string) {
	for i, target := range targets {
		_, err := k.Mechanism(setting, target)
		if err == nil {
			return true, ""
		}
		if i == 0 {
			why = err.Error()
		}
	}
	return false, why
}

// held tells whether the undo suites have a setting in their plans.
func held(kind, setting string) bool {
	if kind == "windows" { // TestEachSettingOfWindowsIsUndone has all of them
		return slices.Contains(windowsSettings(), setting)
	}
	return slices.ContainsFunc(changes(kind), func(c change) bool { return c.setting == setting })
}

func papersTable(t *testing.T) string {
	facts := map[string]*model.Facts{}
	of := map[string][]string{}
	for _, paper := range []string{"dell", "atto", "nappit"} {
		g, ok := guide.FindGuide(paper)
		if !ok {
			t.Fatalf("no guide %s", paper)
		}
		for _, a := range g.Advice {
			if !slices.Contains(of[a.Setting], paper) {
				of[a.Setting] = append(of[a.Setting], paper)
			}
		}
	}
	yes := map[bool]string{true: "yes", false: "no"}
	var out strings.Builder
	for _, k := range All() {
		facts[k.Name()] = recorded(t, k.Name())
		for _, id := range sorted(of) {
			if !strings.HasPrefix(id, k.Name()+".") && (!strings.HasPrefix(id, "any.zfs.") || k.Name() != "illumos") {
				continue
			}
			s, known := guide.Find(id)
			read := false
			for have := range facts[k.Name()].Settings {
				name, _, _ := strings.Cut(have, "@")
				read = read || name == id
			}
			can, why := changeable(k, id)
			does := yes[can]
			if _, byHand := k.(ByHand); byHand && can {
				does = "a script only"
			} else if !can {
				does = "no: " + strings.ReplaceAll(why, "|", "/")
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s | %s |\n", id, strings.Join(of[id], ", "), yes[read], yes[known && len(s.Judge) > 0], does, yes[held(k.Name(), id)])
		}
	}
	return out.String()
}

func sorted(m map[string][]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// The table in docs/systems.md of what linerate does with each setting of DELL's, ATTO's and
// napp-it's papers says what the code does.
func TestTableOfThePapers(t *testing.T) {
	const file = "../../../docs/systems.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), papersHead)
	if !ok {
		t.Fatalf("%s has no table that begins with %q", file, papersHead)
	}
	table, after, _ := strings.Cut(rest, "\n\n")
	want := papersTable(t)
	if golden.Update() {
		if err := os.WriteFile(file, []byte(before+papersHead+want+"\n"+strings.TrimPrefix(after, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table+"\n" != want {
		t.Errorf("%s has another table of the papers (go test ./internal/tune/script -run TestTableOfThePapers -update):\n%s\nwant\n%s", file, table, want)
	}
	if rows := strings.Count(want, "\n"); rows < 30 {
		t.Errorf("%d settings", rows)
	}
}
