package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"linerate/internal/reach"
)

// runOn is a command's end and what it said on a host of another system.
func runOn(goos, line string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = RunOn(context.Background(), reach.ThisHost{GOOS: goos}, strings.Fields(line), strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// everywhere are the commands that a system other than Linux has too: they need nothing of the
// host, or its own shell, or what Go offers on all systems.
func everywhere() []string {
	return strings.Fields(strings.ReplaceAll(`
agent,agent-enrol,agent-list,agent-log,agent-revoke,agent-run,agent-status,agent-token check compare guide,guide-audit,guide-show lab,lab-fault,lab-fault-catalogue,lab-topologies leave
load,load-block,load-fio,load-file,load-filebench,load-frames,load-iozone,load-list,load-tcp,load-vdbench,load-verify
profile,profile-diff,profile-export,profile-import,profile-list,profile-show published report runs setting size
study,study-history,study-list,study-new,study-plan,study-schema,study-show
tune,tune-apply,tune-confirm,tune-history,tune-plan,tune-resume,tune-script,tune-undo version`, ",", " "))
}

// Every command is known to work elsewhere, or says that it does not.
func TestEveryCommandIsKnownToWorkElsewhereOrNot(t *testing.T) {
	t.Parallel()
	var only []string
	for _, o := range onLinux() {
		only = append(only, strings.ReplaceAll(o.command, " ", "-"))
	}
	known := append(everywhere(), only...)
	seen := map[string]bool{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "linerate "), " ", "-")
		standard := name == "linerate" || name == "help" || strings.HasPrefix(name, "completion") || strings.HasPrefix(name, "size-")
		if seen[name] = true; !standard && !slices.Contains(known, name) {
			t.Errorf("%s: say in elsewhere.go that it works on Linux alone, or in this test that it does not", cmd.CommandPath())
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(commandTree())
	for _, name := range known {
		if !seen[name] {
			t.Errorf("there is no command %s", name)
		}
	}
}

// Each command that works on Linux alone says so on every other system before it does anything.
func TestLinuxCommandsSayWhereTheyWork(t *testing.T) {
	lines := map[string]string{
		"explain": "explain /mnt", "watch": "watch --attach 127.0.0.1:445", "fix": "fix a b", "copy": "copy /a /b", "study run": "study run x.yaml",
		"study resume": "study resume x", "profile save": "profile save mine", "lab up": "lab up pair", "lab reboot": "lab reboot a", "lab exec": "lab exec a -- true",
		"lab fault add": "lab fault add loss", "lab fault remove": "lab fault remove 1",
	}
	for _, goos := range []string{"windows", "darwin", "freebsd", "illumos"} {
		for _, o := range onLinux() {
			line := lines[o.command]
			if line == "" {
				line = o.command
			}
			code, out, errs := runOn(goos, line)
			said := strings.Join(strings.Fields(errs), " ")
			want := "linerate: linerate " + o.command + " does not work on " + systemName(goos) + ": "
			if code != ExitFailed || out != "" || !strings.HasPrefix(said, want) || strings.Count(said, ". ") != 1 || !strings.Contains(said, "Linux") {
				t.Errorf("%s on %s: exit code %d, %q: want %q, and one sentence more", line, goos, code, out+said, want)
			}
		}
	}
	for _, line := range []string{"watch --replay nowhere", "explain site:nowhere/a site:nowhere/b"} {
		if _, out, errs := runOn("windows", line); strings.Contains(out+errs, "does not work on") {
			t.Errorf("%s looks at nothing here, and is refused: %s", line, errs)
		}
	}
}
