package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/guide"
)

// typed runs a command line as a user would, and returns what it printed.
func typed(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func goldenText(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s, -want +got:\n%s", file, d)
	}
}

// A host that was given a paper's own blocks: the audit names what is harmful
// or void in them.
func TestGuideAuditOfThePapers(t *testing.T) {
	for paper, want := range map[string]map[string]guide.Status{
		"cit": {
			"net.ipv4.tcp_timestamps": guide.Harmful, "net.ipv4.tcp_sack": guide.Harmful, "net.ipv4.tcp_low_latency": guide.NoOp,
			"net.core.netdev_max_backlog": guide.Harmful, "net.core.rmem_default": guide.Harmful, "net.core.wmem_default": guide.Harmful,
			"net.core.optmem_max": guide.NoOp, "net.ipv4.tcp_rmem": guide.Harmful, "smp_affinity": guide.Stale, "numactl": guide.WrongName,
		},
		"atto":   {"net.inet.tcp.sendspace": guide.WrongSide, "net.inet.tcp.recvspace": guide.WrongSide, "net.inet.tcp.delayed_ack": guide.WrongSide, "net.inet.tcp.rfc1323": guide.WrongSide},
		"dell":   {"chimney": guide.Harmful, "TCP Connection Offload": guide.Harmful, "*JumboPacket": guide.WrongName, "TcpNoDelay": guide.NoOp, "TcpAckFrequency": guide.Stale},
		"nappit": {"nfs:nfs3_max_threads": guide.WrongSide, "nfs:nfs4_bsize": guide.WrongSide, "nfs3:max_transfer_size": guide.WrongName, "lockd_servers": guide.WrongName, "sd:sd_io_time": guide.Harmful, "sync": guide.Harmful, "wcd": guide.Harmful},
		"sfc":    {"clients": guide.Harmful, "mem": guide.Harmful, "ramdisk_size": guide.Stale},
	} {
		t.Run(paper, func(t *testing.T) {
			root := filepath.Join("../../testdata/hosts", "papers-"+paper)
			code, text, stderr := typed(t, "guide", "audit", "--root", root)
			if code != ExitOK || stderr != "" {
				t.Fatalf("exit code %d, %s", code, stderr)
			}
			goldenText(t, filepath.Join(root, "audit.txt"), text)
			_, doc, _ := typed(t, "guide", "audit", "--root", root, "--json")
			var report guide.Report
			if err := json.Unmarshal([]byte(doc), &report); err != nil {
				t.Fatal(err)
			}
			got := map[string]guide.Status{}
			for _, it := range report.Items {
				if _, ok := want[it.Name]; ok {
					got[it.Name] = it.Status
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
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
	goldenText(t, "testdata/guide/caltech-40ge.txt", text)
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
		{[]string{"guide", "audit", "--root", "testdata/script"}, ExitFailed, "", "--root"},
		{[]string{"guide", "audit", "--kernel", "new"}, ExitUsage, "", "6.18"},
		{[]string{"guide", "audit", "--help"}, ExitOK, "Examples:", ""},
		{[]string{"setting", "tcp_rmem"}, ExitOK, "6.16 and later", ""},
		{[]string{"setting", "windows.tcp.chimney"}, ExitOK, "dell-bp1057 (2013-09): enabled: harmful", ""},
		{[]string{"setting", "linux.ethtool.fec"}, ExitOK, "not verified  from memory or the papers alone: all of it", ""},
		{[]string{"setting", "tcp_rmem", "--json"}, ExitOK, `"id": "linux.sysctl.net.ipv4.tcp_rmem"`, ""},
		{[]string{"setting", "tcp_rmem", "--rate", "40Gbit", "--rtt", "16ms"}, ExitOK, "160000000, for one connection at 40 Gbit/s and 16ms", ""},
		{[]string{"setting", "tcp_rmem", "--rate", "40Gbit"}, ExitUsage, "", "--rtt 16ms"},
		{[]string{"setting", "linux.link.mtu", "--rate", "40Gbit", "--rtt", "16ms"}, ExitUsage, "", "its rule is: 9000"},
		{[]string{"setting", "tcp_rmen"}, ExitUsage, "", "near it are tcp_rmem"},
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
