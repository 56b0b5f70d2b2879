package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// The shell is offered what there is: settings, guides, faults, templates, profiles, and
// hosts of the user's ssh configuration.
func TestCompletion(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_DATA_HOME", home)
	t.Setenv("XDG_RUNTIME_DIR", home)
	if err := os.Mkdir(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh", "config"), []byte("Host nas1 nas2\n  User root\nHost *.example ?x !y\nhost client1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	block := filepath.Join(home, "f")
	if err := os.WriteFile(block, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runHere("load", "block", block, "--seconds", "0.05"); code != ExitOK {
		t.Fatalf("make a run: exit code %d, %s", code, errs)
	}
	_, listed, _ := runHere("runs", "--json")
	run := regexp.MustCompile(`"id": "([^"]+)"`).FindStringSubmatch(listed)
	if run == nil {
		t.Fatalf("no run is listed: %s", listed)
	}
	begun := run[1][:4]
	for line, want := range map[string]string{
		"report " + begun:               run[1],
		"compare last " + begun:         run[1],
		"watch --replay " + begun:       run[1],
		"watch nas1 cl":                 "client1",
		"serve na":                      "nas2",
		"tune script nas":               "nas1",
		"setting net.ipv4.tcp_rm":       "net.ipv4.tcp_rmem",
		"setting linux.link.m":          "linux.link.mtu",
		"guide show dell":               "dell-bp1057",
		"study new dell-x":              "dell-x520",
		"lab fault add loss-r":          "loss-random",
		"lab fault add loss-random sev": "severe",
		"lab up clu":                    "cluster",
		"profile show nfs-s":            "nfs-server",
		"tune --profile nfs-c":          "nfs-client",
		"check na":                      "nas1",
		"check nas1 na":                 "nas2",
		"tune plan --to cl":             "client1",
		"report la":                     "last",
		"study show la":                 "last",
		"load block f --workload dell":  "dell-8k-random",
		"chec":                          "check",
	} {
		code, out, errs := runHere(append([]string{"__complete"}, strings.Fields(line)...)...)
		var names []string
		for l := range strings.Lines(out) {
			name, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
			names = append(names, name)
		}
		if code != ExitOK || !slices.Contains(names, want) || slices.Contains(names, "*.example") {
			t.Errorf("%s: exit code %d, %q, %s; want %s", line, code, names, errs, want)
		}
	}
	// A shell does not wait for a controller that is not there.
	if code, out, errs := runHere("__complete", "agent", "revoke", ""); code != ExitOK || strings.TrimSpace(out) != ":4" {
		t.Errorf("agent revoke: exit code %d, %q, %s", code, out, errs)
	}
	if _, out, _ := runHere("__complete", "load", "block", ""); strings.Contains(out, ":4") {
		t.Errorf("a file is not completed as one: %q", out)
	}
}

// What a command's usage calls a host, a mount, a run and so on is offered by name: a command
// that is new is not forgotten.
func TestArgumentsAreCompleted(t *testing.T) {
	env := &environment{}
	known := completions(env)
	named := regexp.MustCompile(`\b(HOST|MOUNT|SENDER|RECEIVER|CLIENT|RUN|RUN_A|PROFILE|GUIDE|NAME|TEMPLATE)\b`)
	var walk func(c *cobra.Command, path string)
	walk = func(c *cobra.Command, path string) {
		if kind := named.FindString(c.Use); kind != "" && known[path] == nil {
			t.Errorf("%s: %s is offered nothing", c.Use, kind)
		}
		for _, s := range c.Commands() {
			walk(s, strings.TrimSpace(path+" "+s.Name()))
		}
	}
	walk(Commands(), "")
	if len(known) < 20 {
		t.Errorf("%d commands complete their arguments", len(known))
	}
}
