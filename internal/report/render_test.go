package report

import (
	"path/filepath"
	"testing"

	"linerate/internal/kernel/golden"
)

// same compares got with a committed file.
func same(t *testing.T, name string, got []byte) {
	t.Helper()
	golden.Same(t, filepath.Join("testdata", name), got)
}
