package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFileIsBounded(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err == nil {
		if b, err := ReadFile("/dev/zero", 1<<20); err == nil || !strings.Contains(err.Error(), "/dev/zero: no plain file") {
			t.Errorf("/dev/zero: %d bytes, %v", len(b), err)
		}
	}
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte(strings.Repeat("x", 2048)), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadFile(name, 2048); err != nil || len(b) != 2048 {
		t.Errorf("as many as allowed: %d, %v", len(b), err)
	}
	if _, err := ReadFile(name, 2047); err == nil {
		t.Error("one more than allowed is read")
	}
	if _, err := ReadFile(name+"x", 1); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
}
