package foreign

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
	"linerate/internal/systems/fake/winhost"
)

// What somebody does who has a Windows filer, a Mac, an OmniOS and an Isilon: look at all, then plan, write, apply
// and undo what the filer's profile wants, once by linerate and once by hand.
func TestFourSystemsAreReadAndOneIsChanged(t *testing.T) {
	t.Parallel()
	const how = "tampered"
	state := t.TempDir()
	hosts := map[string]sshHost{
		"winfiler":   hostBehindSSHD(t, winhost.Install, "ForceCommand BIN/cmd\n", ":", winhost.How+"="+how, winhost.State+"="+state),
		"macmini":    foreignHostOf(t, "macos", "", "", ":"),
		"omnios":     foreignHostOf(t, "illumos", "", "", ":"),
		"nas-isilon": foreignHostOf(t, "onefs", "", "", ":"),
	}
	h := oneOf(t, hosts)
	hasAll(t, h.ran(t, 0, "check", "admin@winfiler", "macmini", "omnios", "nas-isilon"), "Windows 10.0.20348, 16 CPUs", "macOS 24.1.0", "illumos 5.11", "v9.5.0.0, 16 CPUs")

	profile := []string{"winfiler", "--profile", "iscsi-initiator"}
	hasAll(t, h.ran(t, 0, append([]string{"tune", "plan"}, profile...)...), "2 changes", "windows.adapter.rss@Ethernet 2 0 → 1", "windows.adapter.lso@Ethernet 2 0 → 1", "the adapter restarts")
	dir := t.TempDir()
	code, text, errs := h.run(t, append([]string{"tune", "script"}, profile...)...)
	if code != 0 || !strings.Contains(text, "'*RSS'") || !strings.Contains(text, "'*LsoV2IPv4'") {
		t.Fatalf("%d: %s%s", code, text, errs)
	}
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script", "-o", dir + "/apply.ps1"}, profile...)...), "undo.ps1 undoes it")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "apply"}, profile...)...), "0 → 1", "applied: yes")
	filerHas(t, state, how, "1")
	hasAll(t, h.ran(t, 3, append([]string{"tune", "script"}, profile...)...), "there is nothing to change on winfiler")
	hasAll(t, h.ran(t, 0, "tune", "undo", "winfiler"), "windows.adapter.rss@Ethernet 2: 1 -> 0 again", "windows.adapter.lso@Ethernet 2: 1 -> 0 again")
	filerHas(t, state, how, "0")

	// By hand, each file by itself.
	for _, run := range []struct{ file, word, says, has string }{
		{"apply.ps1", "apply", "all 2 changes of", "1"}, {"apply.ps1", "apply", "by an earlier run", "1"}, {"undo.ps1", "", "is in force", "0"}, {"undo.ps1", "", "is in force", "0"},
	} {
		script, err := os.ReadFile(filepath.Join(dir, run.file))
		if err != nil {
			t.Fatal(err)
		}
		filer, err := winhost.Open(state, how)
		if err != nil {
			t.Fatal(err)
		}
		at := `C:\Users\Admin\` + run.file
		var said bytes.Buffer
		if err = filer.Put(at, string(script)); err == nil {
			code, err = filer.RunFile(at, &said, strings.Fields(run.word)...)
		}
		if err != nil || code != 0 {
			t.Errorf("%s %s: %d, %v", run.file, run.word, code, err)
		}
		hasAll(t, said.String(), run.says)
		filerHas(t, state, how, run.has)
	}
}

// filerHas reads the two values that the profile changes.
func filerHas(t *testing.T, state, how, want string) {
	t.Helper()
	h, err := winhost.Open(state, how)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	if _, err := h.Run(`foreach ($one in @(Get-NetAdapterAdvancedProperty)) { if (@('*RSS', '*LsoV2IPv4') -contains $one.CimInstanceProperties['RegistryKeyword'].Value) { [Console]::Out.Write([string]$one.CimInstanceProperties['RegistryValue'].Value[0]) } }`, &said); err != nil || said.String() != want+want {
		t.Errorf("the two values are %q, want %s each; %v", said.String(), want, err)
	}
}

// oneOf reaches each of several hosts by its name, as whoever is asked for.
func oneOf(t *testing.T, hosts map[string]sshHost) sshHost {
	t.Helper()
	var cases strings.Builder
	for name, h := range hosts {
		fmt.Fprintf(&cases, "*' -- %s '*) to=%s ;;\n", name, strings.Split(h.path, ":")[0])
	}
	file := filepath.Join(t.TempDir(), "ssh")
	labtest.Program(t, file, strings.NewReader("#!/bin/sh\ncase \"$*\" in\n"+cases.String()+"esac\n"+
		"n=$#; while [ $n -gt 0 ]; do n=$((n-1)); if [ \"$1\" = -l ]; then shift 2; n=$((n-1)); continue; fi; set -- \"$@\" \"$1\"; shift; done\nexec $to/ssh \"$@\"\n"))
	return sshHost{t.TempDir(), t.TempDir(), filepath.Dir(file) + ":" + os.Getenv("PATH")}
}
