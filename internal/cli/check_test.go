package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel/golden"
	"linerate/internal/report"
)

const recorded = "../../testdata/hosts/"

func looksAt(t *testing.T, args ...string) (out, said string, code int) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(context.Background(), append([]string{"check"}, args...), nil, &o, &e)
	return o.String(), e.String(), code
}

func TestCheckRecordedHosts(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		out  []string // each in stdout
		err  string   // in stderr
	}{
		{[]string{"--from", recorded + "mlx-40g"}, ExitOK, []string{"\n1 high, 1 info\n", "\nhigh    the slot of enp59s0 carries less than its port (40 Gbit/s) (at most 16 Gbit/s)\n", "[pcie-below-port]"}, ""},
		{[]string{"--from", recorded + "zfs-filer-100g", "--fail-on", "low"}, ExitOK, []string{"1 info"}, ""},
		{[]string{"--from", recorded + "zfs-filer-100g", "--fail-on", "info"}, ExitFound, []string{"1 info"}, "linerate: 1 findings of severity info or worse\n"},
		{[]string{"--from", recorded + "mlx-40g", "--fail-on", "high"}, ExitFound, nil, "1 findings of severity high or worse"},
		{[]string{"--from", recorded + "nas-client-bond-sick", "--format", "markdown"}, ExitOK, []string{"\n### high: the ports of bond0 are not in one group (at most 10 Gbit/s)\n"}, ""},
		{[]string{"--from", recorded + "nas-client-bond-sick", "--format", "html"}, ExitOK, []string{`<article class="card high">`, "<h1>What is wrong with this host</h1>", `<p class="big">3 high, 8 medium`, "</html>"}, ""},
		{[]string{"--from", recorded + "mlx-40g", "--line-rate", "40Gbit", "--rtt", "16ms"}, ExitOK, []string{"receive-buffer-below-bdp"}, ""},
		{[]string{"--rules"}, ExitOK, []string{"\n  pcie-below-port "}, ""},
		{[]string{"--rules", "--json"}, ExitOK, []string{`"rule": "sack-off"`}, ""},
		{[]string{"--from", "nowhere"}, ExitFailed, []string{"nowhere\nNot looked at: "}, "1 of 1 hosts could not be looked at"},
		{[]string{"--from", "a", "--rules"}, ExitUsage, nil, "not more than one"},
		{[]string{"host1", "host2", "--snapshot", "a"}, ExitUsage, nil, "not more than one"},
		{[]string{"--fail-on", "worse"}, ExitUsage, nil, "choose one of high, medium, low, info"},
		{[]string{"--format", "pdf"}, ExitUsage, nil, "choose text, html or markdown"},
		{[]string{"--line-rate", "fast"}, ExitUsage, nil, "such as 10Gbit"},
		{[]string{"a", "b", "--rtt", "1ms"}, ExitUsage, nil, "state both or neither"},
		{[]string{"--line-rate", "10Gbit"}, ExitUsage, nil, "state both or neither"},
		{[]string{"--lldp", "1h"}, ExitUsage, nil, "at most 5m"},
		{[]string{"--lldp", "5s", "--rules"}, ExitUsage, nil, "look at running hosts"},
		{[]string{"--switch-login", "f"}, ExitUsage, nil, "name the switch"},
		{[]string{"--rtt", "1ms"}, ExitUsage, nil, "state both or neither"},
		{[]string{"--watch", "-1s"}, ExitUsage, nil, "choose 0s to 10m"},
		{[]string{"--watch", "1h"}, ExitUsage, nil, "choose 0s to 10m"},
		{[]string{"--rtt", "-1ms"}, ExitUsage, nil, "takes time"},
		{[]string{"--json", "--format", "html"}, ExitUsage, nil, "choose one"},
	} {
		out, said, code := looksAt(t, c.args...)
		if code != c.code || !strings.Contains(said, c.err) || c.err == "" && said != "" {
			t.Errorf("%v: exit code %d, want %d; stderr %q, want %q", c.args, code, c.code, said, c.err)
		}
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("%v: no %q in:\n%s", c.args, want, out)
			}
		}
	}
}

// What check prints of every recorded host, to the letter.
func TestCheckTexts(t *testing.T) {
	files, err := filepath.Glob(recorded + "*/host.txtar")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d recorded hosts, %v", len(files), err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			out, said, code := looksAt(t, "--from", dir)
			if code != ExitOK || said != "" {
				t.Fatalf("exit code %d, %q", code, said)
			}
			golden.Same(t, filepath.Join(dir, "check.txt"), out)
		})
	}
}

func TestCheckJSON(t *testing.T) {
	out, _, code := looksAt(t, "--json", "--from", recorded+"dtn-40g-sick")
	var c report.Check
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != ExitOK {
		t.Fatalf("exit code %d, %v", code, err)
	}
	if c.V != 1 || len(c.Hosts) != 1 || c.Pairs == nil || c.Hosts[0].Facts == nil || len(c.Hosts[0].Findings) < 20 {
		t.Fatalf("%+v", c)
	}
	for _, f := range c.Hosts[0].Findings {
		if f.Rule == "" || f.Title == "" || f.Observed == "" || f.Why == "" || f.Fix == "" || len(f.Sources) == 0 {
			t.Errorf("a field is empty: %+v", f)
		}
	}
}

// Outside text may be cut, huge, or made to harm: an answer or an error, never
// a panic, and nothing that moves a terminal's cursor.
func TestCheckHostileSnapshots(t *testing.T) {
	good, err := os.ReadFile(recorded + "dtn-40g-sick/host.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(good), "\"bytes\":0}\n") // what follows the manifest
	if !ok {
		t.Fatal("the recording has no manifest")
	}
	manifest := "-- manifest.json --\n{\"v\":1,\"os\":\"linux\",\"files\":400,\"bytes\":90000}\n"
	for name, c := range map[string]struct {
		text, out string
		code      int
	}{
		"cut":         {manifest + text[:len(text)/2], "the rest of the snapshot", ExitOK},
		"empty":       {"", "damaged snapshot", ExitFailed},
		"no archive":  {"\xff\xfe\x00 hello", "damaged snapshot", ExitFailed},
		"other":       {strings.Replace(manifest, "linux", "plan9", 1) + text, "unsupported on plan9", ExitFailed},
		"cursor":      {strings.ReplaceAll(text, "ens4", "e\\u001b[2Js"), "e [2Js", ExitOK},
		"non-UTF-8":   {strings.ReplaceAll(text, "5.4.0", "\xff\xfe\x80"), "Linux ?", ExitOK},
		"huge file":   {text + "-- proc/meminfo --\n" + strings.Repeat("MemTotal: 1 kB\n", 1<<20), "pcie-upstream-below-port", ExitOK},
		"wild number": {strings.ReplaceAll(text, "1000000000", "9223372036854775807"), "pcie-upstream-below-port", ExitOK},
		"negative":    {strings.ReplaceAll(text, "40000", "-40000"), "Linux 5.4.0", ExitOK},
		"no links":    {strings.Replace(text, "netlink/links.json", "netlink/other.json", 1), "Not seen", ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "host.txtar"), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, _, code := looksAt(t, "--from", dir)
			oneLine := strings.Join(strings.Fields(out), " ") // where lines break depends on the path
			if code != c.code || !strings.Contains(oneLine, c.out) || strings.ContainsAny(out, "\x1b\x00") {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, c.code, c.out, out)
			}
		})
	}
}

// A second look that is cut, alien or huge leaves the first one as it is.
func TestCheckHostileSecondLook(t *testing.T) {
	first, err := os.ReadFile(recorded + "dtn-40g-sick/host.txtar")
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(recorded + "dtn-40g-sick/again.txtar")
	if err != nil {
		t.Fatal(err)
	}
	text := string(again)
	for name, c := range map[string]struct{ text, out string }{
		"whole":        {text, "; counters watched for 10s"},
		"no archive":   {"\xff\x00", "the second look of the snapshot (which counters rose)"},
		"another host": {strings.Replace(text, "0000-4000-8000-000000000011", "0000-4000-8000-000000000099", 1), "perhaps long ago"},
		"an hour back": {strings.Replace(text, "T12:00:10Z", "T11:00:00Z", 1), "perhaps long ago"},
		"other ports":  {strings.ReplaceAll(text, "ens4", "ens5"), "ens5"},
		"no counters":  {strings.ReplaceAll(text, "proc/net/", "proc/other/"), "medium  ens4 drops frames"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, b := range map[string][]byte{"host.txtar": first, "again.txtar": []byte(c.text)} {
				if err := os.WriteFile(filepath.Join(dir, file), b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, _, code := looksAt(t, "--from", dir)
			if code != ExitOK || !strings.Contains(out, c.out) || strings.ContainsAny(out, "\x1b\x00") {
				t.Errorf("exit code %d, want %q:\n%s", code, c.out, out)
			}
		})
	}
}

// One of several that cannot be reached is named; the others are told.
func TestCheckSeveralHosts(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this host can be looked at on Linux only")
	}
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	out, said, code := looksAt(t, "--watch", "0", "localhost", "lab:gone/h1")
	if code != ExitFailed || !strings.Contains(out, "localhost\nLinux") || !strings.Contains(out, "lab:gone/h1\nNot looked at: ") || !strings.Contains(said, "1 of 2 hosts could not be looked at: lab:gone/h1") {
		t.Errorf("exit code %d\n%s%s", code, out, said)
	}
}

func TestCheckSnapshot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this host can be looked at on Linux only")
	}
	dir := filepath.Join(t.TempDir(), "rec")
	start := time.Now()
	if out, said, code := looksAt(t, "--snapshot", dir, "--watch", "1ms"); code != ExitOK || !strings.Contains(out, "--from "+dir) {
		t.Fatalf("exit code %d, %q %q", code, out, said)
	}
	t.Logf("looked and recorded in %v", time.Since(start))
	out, said, code := looksAt(t, "--from", dir)
	if code != ExitOK || !strings.Contains(out, "\nrec\nLinux") || !strings.Contains(out, "; counters watched for ") || strings.Contains(out, "the rest of the snapshot") {
		t.Errorf("exit code %d, %q %q", code, out, said)
	}
	name, err := os.Hostname()
	b, err2 := os.ReadFile(filepath.Join(dir, "host.txtar"))
	if err != nil || err2 != nil || len(name) > 6 && bytes.Contains(b, []byte(name)) {
		t.Errorf("the host's name is in the snapshot; %v, %v", err, err2)
	}
	if _, said, code := looksAt(t, "--snapshot", dir); code != ExitUsage || !strings.Contains(said, "is there already") {
		t.Errorf("exit code %d, %q", code, said)
	}
}
