package script

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"linerate/internal/systems/fake/powershell"
)

// Killed before or after any effect, a plan is undone by its script, and applied again by it.
func TestKilledAnywhereOnWindows(t *testing.T) {
	t.Parallel()
	count := func(r *windowsRig, at int, args ...string) int {
		n := 0
		h := r.open("")
		h.Step = func(string) error {
			if n++; n == at {
				return powershell.ErrKilled
			}
			return nil
		}
		var out bytes.Buffer
		if _, err := h.RunFile(r.file, &out, args...); err != nil && !errors.Is(err, powershell.ErrKilled) {
			t.Fatalf("%v: %s", err, out.String())
		}
		return n
	}
	calls := count(newWindowsRig(t), -1, "apply", "5")
	if calls < 60 {
		t.Fatalf("%d effects", calls)
	}
	step, cases := 1, 0
	if testing.Short() || os.Getenv("LINERATE_LONG") == "" {
		step = 5
	}
	for at := 1; at <= calls; at += step {
		r, again := newWindowsRig(t), newWindowsRig(t)
		count(r, at, "apply", "5")
		count(again, at, "apply", "5")
		if out, code := again.run("", "apply", "5"); code != 0 {
			t.Errorf("killed at %d, applied again: exit code %d\n%s", at, code, out)
		}
		again.has(after)
		cases++
		for _, x := range []*windowsRig{r, again} {
			was := x.now()
			count(x, at, "undo")
			if out, code := x.run("", "undo"); code != 0 || x.now() != before {
				t.Errorf("killed at %d at %s, undone: exit code %d, %s\n%s", at, was, code, x.now(), out)
			}
			cases++
		}
	}
	t.Logf("killed at each %d. of %d moments: %d cases of undo", step, calls, cases)
}

// Every script is parsed by a grammar of PowerShell where Python has it.
func TestScriptsForPowerShellAreParsed(t *testing.T) {
	python := os.Getenv("LINERATE_POWERSHELL_GRAMMAR")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import tree_sitter, tree_sitter_powershell").CombinedOutput(); err != nil {
		t.Skipf("no grammar of PowerShell: pip install tree-sitter tree-sitter-powershell (%v: %.80s)", err, out)
	}
	carried, err := Windows{}.System().Carry(winScript(t), "undo", "--force")
	if err != nil {
		t.Fatal(err)
	}
	plans, err := Windows{}.System().OnPlans("", plan, "status")
	if err != nil {
		t.Fatal(err)
	}
	reading, err := os.ReadFile("../../systems/windows/read.ps1")
	if err != nil {
		t.Fatal(err)
	}
	const check = `import sys, tree_sitter, tree_sitter_powershell as g
tree = tree_sitter.Parser(tree_sitter.Language(g.language())).parse(sys.stdin.buffer.read())
sys.exit("at line %d" % (1 + min((n.start_point[0] for n in tree.root_node.children if n.has_error), default=0)) if tree.root_node.has_error else 0)`
	every, all := scriptOfAll(t)
	undo, err := winPlanScript(t).UndoText()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"change": winScript(t), "undo": undo, "of every setting": every, "reading": Windows{}.System().Reading(all), "carried": carried, "plans": plans, "read": string(reading), "broken": "if (1 { 'x"} {
		cmd := exec.Command(python, "-c", check)
		// The grammar knows no digits in the name of a parameter.
		cmd.Stdin = strings.NewReader(strings.ReplaceAll(text, "-Smb2Credits", "-SmbCredits"))
		if out, err := cmd.CombinedOutput(); (err != nil) != (name == "broken") {
			t.Errorf("%s: %v %s", name, err, out)
		}
	}
}

// scriptOfAll has a step for each setting of Windows, with each device that it can be of.
func scriptOfAll(t *testing.T) (text string, all []Mechanism) {
	t.Helper()
	s := Script{Plan: plan, Host: "winfiler", System: Windows{}.System()}
	for _, setting := range windowsSettings() {
		was := len(all)
		for _, target := range []string{"guid:11111111-2222-3333-4444-00000000000a", "guid:11111111-2222-3333-4444-00000000000a/ms_lltdio", "InternetCustom", "client", "server", ""} {
			if m, err := (Windows{}).Mechanism(setting, target); err == nil {
				all = append(all, m)
				s.Steps = append(s.Steps, Step{Name: setting + "@" + target, From: "1", To: "2", Mechanism: m})
			}
		}
		if len(all) == was {
			t.Errorf("%s: no script has it", setting)
		}
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text, all
}
