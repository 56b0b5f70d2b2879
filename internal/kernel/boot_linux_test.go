package kernel

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVirtioPortsAreFoundByName(t *testing.T) {
	dir := t.TempDir()
	for port, name := range map[string]string{"vport1p1": "org.other", "vport4p2": "linerate.control"} {
		if err := os.Mkdir(filepath.Join(dir, port), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, port, "name"), []byte(name+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := virtioPort(dir, "linerate.control"); err != nil || got != "/dev/vport4p2" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := virtioPort(dir, "linerate"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("part of a name: %v", err)
	}
}

func TestAPipeIsConnectedUntilItsOtherEndCloses(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, want := range []bool{true, false} {
		if on, err := connected(r); err != nil || on != want {
			t.Errorf("connected: %v, %v, want %v", on, err, want)
		}
		w.Close()
	}
}

func TestBootStepsNameWhatFailed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	for says, err := range map[string]error{
		"load module: open " + missing: LoadModule(missing, ""),
		"enter " + missing:             SwitchRoot(missing),
		"mount none (no-such-type) at": Mount{Source: "none", Target: t.TempDir(), Type: "no-such-type"}.Do(),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}
