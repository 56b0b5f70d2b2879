package labtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLacks(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if err := os.WriteFile(filepath.Join(bin, "iscsistart"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if why := Lacks("iscsistart"); why != "" {
		t.Error(why)
	}
	if err := os.Remove(filepath.Join(bin, "iscsistart")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(bin, "iscsistart"), 0o755); err != nil { // no program
		t.Fatal(err)
	}
	if _, err := os.Stat("/usr/sbin/iscsistart"); err == nil {
		return // it is there whatever PATH says
	}
	want := "needs iscsistart; apt-get install --no-install-recommends open-iscsi"
	if why := Lacks("iscsistart"); why != want {
		t.Errorf("%q, want %q", why, want)
	}
}

func TestShort(t *testing.T) {
	t.Setenv(LongSwitch, "")
	if why := Short("TestX"); why != "long: TestX runs with LINERATE_LONG=1" {
		t.Error(why)
	}
	t.Setenv(LongSwitch, "1")
	if why := Short("TestX"); why != "" {
		t.Error(why)
	}
}

// Every line can be asked for and names a package.
func TestPrograms(t *testing.T) {
	for line := range strings.Lines(programs) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name := strings.Fields(line)[0]
		if p := find(name); p.from == "" || p.files == "" && strings.Contains(p.from, "/") {
			t.Errorf("%+v", p)
		}
	}
}
