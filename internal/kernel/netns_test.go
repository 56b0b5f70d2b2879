package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseStart(t *testing.T) {
	const tail = " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20"
	for _, c := range []struct {
		in   string
		want uint64
		ok   bool
	}{
		{"7 (sh)" + tail, 4711, true},
		{"7 (a ) S (b))" + tail, 4711, true},
		{"7 (sh)" + strings.Replace(tail, "S", "Z", 1), 0, false},
		{"7 (sh) S 1 2", 0, false},
		{"7 sh S", 0, false},
		{"", 0, false},
	} {
		if got, err := parseStart([]byte(c.in)); got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %d, %v", c.in, got, err)
		}
	}
}

func FuzzParseStart(f *testing.F) {
	f.Add([]byte("7 (sh) S 1 2 3"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = parseStart(b) })
}

func TestProcessTree(t *testing.T) {
	proc := t.TempDir()
	for name, text := range map[string]string{"12/environ": "A=1\x00B=2\x00", "12/stat": "12 (x) S", "self/stat": ""} {
		path := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if pids, err := Processes(proc); err != nil || !slices.Equal(pids, []int{12}) {
		t.Errorf("processes %v, %v", pids, err)
	}
	if env, err := ProcessEnv(proc, 12); err != nil || !slices.Equal(env, []string{"A=1", "B=2"}) {
		t.Errorf("environment %q, %v", env, err)
	}
	if _, err := ProcessStart(proc, 12); err == nil {
		t.Error("half a stat was read")
	}
	if _, err := ProcessStart(proc, 13); !errors.Is(err, fs.ErrNotExist) || !IsGone(err) {
		t.Errorf("no process: %v", err)
	}
	if _, err := NetNamespace(proc, 12); err == nil {
		t.Error("a process without ns has a namespace")
	}
}

func TestUserNamespaceRefusal(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"user/max_user_namespaces", "0\n", "max_user_namespaces"},
		{"user/max_user_namespaces", "100\n", ""},
		{"kernel/unprivileged_userns_clone", "0\n", "unprivileged_userns_clone"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1\n", "AppArmor"},
		{"kernel/apparmor_restrict_unprivileged_userns", "0\n", ""},
	} {
		proc := t.TempDir()
		path := filepath.Join(proc, "sys", c.file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := UserNamespaceRefusal(proc)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s = %q: %q", c.file, c.text, got)
		}
		err := UserNamespaceError(proc, fs.ErrPermission)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "run as root") {
			t.Errorf("%s = %q: %v", c.file, c.text, err)
		}
	}
}
