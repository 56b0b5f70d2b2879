//go:build !linux

package load

import "testing"

// oneCPU is not asked for where threads cannot be pinned.
func oneCPU(t *testing.T) []int {
	t.Helper()
	t.Fatal("threads cannot be pinned here")
	return nil
}
