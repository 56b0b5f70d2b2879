package qemu

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWhatAProgramIsLinkedWith(t *testing.T) {
	const program = "/bin/sh"
	loader, libs, err := readELF(program)
	if err != nil || loader == "" {
		t.Skipf("%s: loader %q, %v", program, loader, err)
	}
	files, err := linkedWith(program)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, loader) {
		t.Errorf("%v lacks the loader, %s", files, loader)
	}
	for _, lib := range libs {
		if !slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == lib }) {
			t.Errorf("%v lacks %s", files, lib)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	write(t, script, []byte("#!/bin/sh\n"))
	if _, err := linkedWith(script); err == nil || !strings.Contains(err.Error(), script) {
		t.Errorf("a script has libraries: %v", err)
	}
}
