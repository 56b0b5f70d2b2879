package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/guide"
	"linerate/internal/kernel/golden"
)

// typed runs a command line as a user would, and returns what it printed.
func typed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// What is printed of the papers' own blocks.
func TestGuideAuditOfThePapers(t *testing.T) {
	roots, err := filepath.Glob("../../testdata/hosts/papers-*")
	if err != nil || len(roots) < 5 {
		t.Fatalf("found %q: %v", roots, err)
	}
	for _, root := range roots {
		t.Run(filepath.Base(root), func(t *testing.T) {
			code, text, stderr := typed(t, "guide", "audit", "--root", root)
			if code != ExitOK || stderr != "" {
				t.Fatalf("exit code %d, %s", code, stderr)
			}
			golden.Same(t, filepath.Join(root, "audit.txt"), text)
		})
	}
}

// The same block was a raise once.
func TestGuideAuditOnAnotherKernel(t *testing.T) {
	_, doc, _ := typed(t, "guide", "audit", "--root", "../../testdata/hosts/papers-cit", "--kernel", "6.1", "--json")
	var report guide.Report
	if err := json.Unmarshal([]byte(doc), &report); err != nil {
		t.Fatal(err)
	}
	for _, it := range report.Items {
		if it.Name == "net.ipv4.tcp_rmem" && (it.Status != guide.Stale || !strings.HasPrefix(it.RemovalRestores, "4096 131072 6291456")) {
			t.Errorf("%+v", it)
		}
	}
}

func TestGuideShowGolden(t *testing.T) {
	code, text, _ := typed(t, "guide", "show", "caltech-40ge")
	if code != ExitOK {
		t.Fatalf("exit code %d", code)
	}
	golden.Same(t, "testdata/guide/caltech-40ge.txt", text)
}

func TestGuideCommands(t *testing.T) {
	for _, c := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"guide"}, ExitOK, "caltech-40ge", ""},
		{[]string{"guide", "--json"}, ExitOK, `"key": "dell-bp1057"`, ""},
		{[]string{"guide", "show", "cit", "--json"}, ExitOK, `"wrong claim"`, ""},
		{[]string{"guide", "show"}, ExitUsage, "", "--help"},
		{[]string{"guide", "show", "nobody"}, ExitUsage, "", "linerate guide lists them"},
		{[]string{"guide", "show", "nap"}, ExitUsage, "", "near it are napp-it-10ge"},
		{[]string{"guide", "show", "mughal"}, ExitUsage, "", "near it are caltech-40ge"},
		{[]string{"guide", "shwo"}, ExitUsage, "", "see linerate guide --help"},
		{[]string{"guide", "audit", "--root", "testdata/script"}, ExitFailed, "", "--root"},
		{[]string{"guide", "audit", "--kernel", "new"}, ExitUsage, "", "6.18"},
		{[]string{"guide", "audit", "nas1", "--from", "x"}, ExitUsage, "", "not more than one"},
		{[]string{"guide", "audit", "nas1:/export"}, ExitUsage, "", "without a path"},
		{[]string{"guide", "audit", "--from", "testdata/script"}, ExitFailed, "", "host.txtar"},
		{[]string{"guide", "audit", "--help"}, ExitOK, "Examples:", ""},
		{[]string{"setting", "tcp_rmem"}, ExitOK, "6.16 and later", ""},
		{[]string{"setting", "windows.tcp.chimney"}, ExitOK, "dell-bp1057 (2013-09): enabled: harmful", ""},
		{[]string{"setting", "windows.adapter.isoe"}, ExitOK, "not verified  from memory or the papers alone: all of it", ""},
		{[]string{"setting", "tcp_rmem", "--json"}, ExitOK, `"id": "linux.sysctl.net.ipv4.tcp_rmem"`, ""},
		{[]string{"setting", "tcp_rmem", "--rate", "40Gbit", "--rtt", "16ms"}, ExitOK, "160000000, for one connection at 40 Gbit/s and 16ms", ""},
		{[]string{"setting", "tcp_rmem", "--rate", "40Gbit"}, ExitUsage, "", "--rtt 16ms"},
		{[]string{"setting", "linux.link.mtu", "--rate", "40Gbit", "--rtt", "16ms"}, ExitUsage, "", "its rule is: 9000"},
		{[]string{"setting", "tcp_rmen"}, ExitUsage, "", "near it are tcp_rmem"},
		{[]string{"setting", "qqqqqq"}, ExitUsage, "", "nothing is like it"},
		{[]string{"setting", "recordsize"}, ExitOK, "zfs get recordsize DATASET", ""},
		{[]string{"setting", "macos.sysctl.net.inet.tcp.recvspace"}, ExitOK, "a setting of macOS, which this host is not; shown by: sysctl net.inet.tcp.recvspace", ""},
	} {
		code, stdout, stderr := typed(t, c.args...)
		if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
			t.Errorf("%v: exit code %d, want %d\n%s%s", c.args, code, c.code, stdout, stderr)
		}
		if c.code != ExitOK && strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: the error is not one line: %q", c.args, stderr)
		}
	}
}

// A recording is audited like the host that it was made of.
func TestGuideAuditOfARecording(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rec")
	if code, _, said := typed(t, "check", "--snapshot", dir); code != ExitOK {
		t.Fatalf("exit code %d: %s", code, said)
	}
	_, here, _ := typed(t, "guide", "audit", "--json")
	code, there, said := typed(t, "guide", "audit", "--from", dir, "--json")
	if code != ExitOK || said != "" {
		t.Fatalf("exit code %d: %s", code, said)
	}
	var a, b guide.Report
	if err := errors.Join(json.Unmarshal([]byte(here), &a), json.Unmarshal([]byte(there), &b)); err != nil {
		t.Fatal(err)
	}
	if a.Kernel != b.Kernel || len(a.Items) != len(b.Items) || b.Kernel == "" {
		t.Errorf("kernel %q and %q, %d and %d items", a.Kernel, b.Kernel, len(a.Items), len(b.Items))
	}
	old := t.TempDir()
	if err := os.WriteFile(filepath.Join(old, "host.txtar"), []byte("-- proc/sys/kernel/osrelease --\n6.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, said := typed(t, "guide", "audit", "--from", old); code != ExitFailed || !strings.Contains(said, "record the host again") {
		t.Errorf("a recording without files: exit code %d: %s", code, said)
	}
}
