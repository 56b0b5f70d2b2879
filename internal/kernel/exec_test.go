package kernel

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	if _, err := Run(context.Background(), "no-such-program-of-linerate"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the programs below are Linux's")
	}
	out, err := Run(context.Background(), "sh", "-c", "echo $LC_ALL; echo oops >&2; exit 3")
	if string(out) != "C\n" || err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("%q, %v", out, err)
	}
}

// What rpm 4.18 prints of a file of a package and of one that is of none.
func TestParseOwner(t *testing.T) {
	failed := errors.New("ask rpm: exit status 1")
	for _, c := range []struct {
		out  string
		err  error
		want string
		bad  bool
	}{
		{"tuned\n", nil, "tuned", false},
		{"glibc\nglibc\n", nil, "glibc", false},
		{"file /etc/x is not owned by any package\n", failed, "", false},
		{"", failed, "", true},
		{"", nil, "", true},
		{"file /etc/y is not owned by any package\n", failed, "", true},
		{"error: rpmdb: damaged\n", nil, "", true},
	} {
		got, err := ParseOwner([]byte(c.out), "/etc/x", c.err)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%q: %q, %v", c.out, got, err)
		}
	}
}

func FuzzParseOwner(f *testing.F) {
	f.Add([]byte("tuned\n"), "/etc/x")
	f.Fuzz(func(t *testing.T, b []byte, file string) {
		if pkg, err := ParseOwner(b, file, nil); err != nil && pkg != "" || strings.ContainsAny(pkg, " /\n\x00") {
			t.Errorf("%q, %v", pkg, err)
		}
	})
}
