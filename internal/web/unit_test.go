package web

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
)

// The unit that is shipped has nothing that systemd does not know, and lets the service write
// nothing but its own state: the journal's directory, which is root's, is not it.
func TestSystemdTakesTheUnit(t *testing.T) {
	b, err := os.ReadFile("../../release/linerate-serve.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"User=linerate", "ProtectSystem=strict", "CPUQuota=", "MemoryMax=", "CapabilityBoundingSet=\n", "NoNewPrivileges=yes", "StateDirectory=linerate-serve\n"} {
		if !bytes.Contains(b, []byte(want)) {
			t.Errorf("no %s", want)
		}
	}
	labtest.Needs(t, "systemd-analyze")
	// The program need not be installed where this is tested.
	dir := t.TempDir()
	labtest.Program(t, filepath.Join(dir, "linerate"), strings.NewReader("#!/bin/sh\n"))
	unit := filepath.Join(dir, "linerate-serve.service")
	if err := os.WriteFile(unit, bytes.ReplaceAll(b, []byte("/usr/bin"), []byte(dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", unit).CombinedOutput(); err != nil || bytes.Contains(out, []byte("linerate-serve.service:")) {
		t.Errorf("%v\n%s", err, out)
	}
}
