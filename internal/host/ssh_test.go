package host

import (
	"strings"
	"testing"
)

func TestParseProbe(t *testing.T) {
	got, err := parseProbe("Welcome!\n\nLinux\nx86_64\n1000\ngzip\n/tmp/linerate.aB3dE6gH9j\n")
	if want := (place{goos: "linux", goarch: "amd64", uid: "1000", tools: "gzip", dir: "/tmp/linerate.aB3dE6gH9j"}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for own, want := range map[string]int64{" 48159547": 48159547, "    12": 12, " ": 0, " no number": 0} {
		if p, err := parseProbe("Linux\nx86_64\n0\ngzip" + own + "\n/tmp/linerate.aB3dE6gH9j\n"); err != nil || p.tools != toolsGzip || p.own != want {
			t.Errorf("%q: %+v, %v", own, p, err)
		}
	}
	if p, err := parseProbe("Linux\nx86_64\n0\nplain+zstd+exact 7\n/tmp/linerate.aB3dE6gH9j\n"); err != nil || p.tools != toolsPlain || !p.zstd || !p.exact || p.own != 7 {
		t.Errorf("with zstd: %+v, %v", p, err)
	}
	for name, out := range map[string]string{
		"empty":               "",
		"no system":           "Plan9\nx86_64\n0\ngzip\n/tmp/linerate.aB3dE6gH9j\n",
		"no machine":          "Linux\npdp11\n0\ngzip\n/tmp/linerate.aB3dE6gH9j\n",
		"a relative place":    "Linux\nx86_64\n0\ngzip\ntmp/linerate.aB3dE6gH9j\n",
		"a quote":             "Linux\nx86_64\n0\ngzip\n/tmp/'/linerate.aB3dE6gH9j\n",
		"a command":           "Linux\nx86_64\n0\ngzip\n/tmp/$(id)/linerate.aB3dE6gH9j\n",
		"a space":             "Linux\nx86_64\n0\ngzip\n/tmp /linerate.aB3dE6gH9j\n",
		"somewhere else":      "Linux\nx86_64\n0\ngzip\n/home\n",
		"out of the way":      "Linux\nx86_64\n0\ngzip\n/tmp/../linerate.aB3dE6gH9j\n",
		"a control character": "Linux\nx86_64\n0\ngzip\n/tmp/\x1b[2J\n",
	} {
		if p, err := parseProbe(out); err == nil {
			t.Errorf("%s: accepted as %+v", name, p)
		} else if strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: the error can steer a terminal: %q", name, err)
		}
	}
}

func FuzzParseProbe(f *testing.F) {
	f.Add("Linux\nx86_64\n0\ngzip\n/tmp/linerate.aB3dE6gH9j\n")
	f.Fuzz(func(t *testing.T, out string) {
		p, err := parseProbe(out)
		if err == nil && strings.ContainsAny(p.dir, " '\"`$;|&<>\\\n*?") {
			t.Errorf("%q gives directory %q", out, p.dir)
		}
	})
}

func TestScriptsFitIntoSingleQuotes(t *testing.T) {
	for _, s := range []string{sessionScript, copyScript, readBackScript, removeScript} {
		if strings.ContainsAny(s, "'\n") {
			t.Errorf("script %q breaks out of its quotes", s)
		}
	}
}

func TestParseAgentArgs(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		dir      string
		deployed bool
		bad      bool
	}{
		{nil, "", false, false},
		{[]string{"/var/lib/x"}, "/var/lib/x", false, false},
		{[]string{"--deployed"}, "", true, false},
		{[]string{"--deployed", "/x"}, "/x", true, false},
		{[]string{"x"}, "", false, true},
		{[]string{"/x", "/y"}, "", false, true},
	} {
		dir, deployed, err := ParseAgentArgs(tt.args)
		if (err != nil) != tt.bad || !tt.bad && (dir != tt.dir || deployed != tt.deployed) {
			t.Errorf("%q: %q, %v, %v", tt.args, dir, deployed, err)
		}
	}
}

func TestDefaultStateDir(t *testing.T) {
	env := func(m map[string]string) func(string) string { return func(k string) string { return m[k] } }
	for _, tt := range []struct {
		uid  int
		env  map[string]string
		want string
	}{
		{0, map[string]string{"HOME": "/root"}, "/var/lib/linerate"},
		{1000, map[string]string{"HOME": "/home/a"}, "/home/a/.local/state/linerate"},
		{1000, map[string]string{"HOME": "/home/a", "XDG_STATE_HOME": "/s"}, "/s/linerate"},
		{1000, map[string]string{"HOME": "/home/a", "XDG_STATE_HOME": "s"}, "/home/a/.local/state/linerate"},
		{-1, map[string]string{"LOCALAPPDATA": "/local", "HOME": "/h"}, "/local/linerate/state"}, // Windows knows no uid
		{-1, map[string]string{"LOCALAPPDATA": "/local", "XDG_STATE_HOME": "/s"}, "/s/linerate"},
		{1000, nil, ""},
	} {
		got, err := DefaultStateDir(tt.uid, env(tt.env))
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("uid %d, %v: %q, %v; want %q", tt.uid, tt.env, got, err, tt.want)
		}
	}
}

// Who may not look into root's state directory is told neither that nothing was changed nor that
// something was.
func TestRootsJournalIsNotTakenForNone(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		uid    int
		dir    string
		hidden bool
	}{{1000, dir, true}, {0, dir, false}, {-1, dir, false}, {1000, dir + "/none", false}} {
		err := rootsJournal(c.uid, c.dir)
		if (err != nil) != c.hidden || err != nil && !strings.Contains(err.Error(), "is not known") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
