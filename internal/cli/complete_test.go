package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
	for line, want := range map[string]string{
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
	if _, out, _ := runHere("__complete", "load", "block", ""); strings.Contains(out, ":4") {
		t.Errorf("a file is not completed as one: %q", out)
	}
}
