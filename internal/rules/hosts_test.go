package rules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel/golden"
	"linerate/internal/model"
)

// With -update the findings of the recorded hosts are rewritten; their facts are
// kept by the tests of internal/facts.

// What the rules say of every recorded host, and that the healthy ones have
// nothing above "info".
func TestRecordedHosts(t *testing.T) {
	// How many findings above "info" a healthy one may have: the emulator's clock
	// is slow.
	healthy := map[string]int{
		"vm-virtio": 0, "zfs-filer-100g": 0, "uml-nfs-client": 0, "iscsi-client": 0, "bnxt-25g": 0, "uml-storage-client": 0, "uml-storage-server": 0,
		"qemu-e1000e-vmxnet3": 1,
	}
	files, err := filepath.Glob("../../testdata/hosts/*/facts.json")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d recorded hosts, %v", len(files), err)
	}
	for _, file := range files {
		dir := filepath.Dir(file)
		name := filepath.Base(dir)
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var f model.Facts
			if err := json.Unmarshal(b, &f); err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			above := 0
			for _, found := range Check(&f, Context{}) {
				bound := ""
				if found.Bound != nil {
					bound = " | at most " + found.Bound.String()
				}
				fmt.Fprintf(&got, "%s %s | %s | %s%s\n", found.Severity, found.Rule, found.Title, found.Observed, bound)
				if found.Severity != Info {
					above++
				}
			}
			if most, ok := healthy[name]; ok && above > most {
				t.Errorf("a healthy host has %d findings above info:\n%s", above, got.String())
			}
			golden.Same(t, filepath.Join(dir, "findings.txt"), got.String())
		})
	}
}
