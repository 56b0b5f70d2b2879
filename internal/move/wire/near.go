package wire

import (
	"runtime"

	"linerate/internal/kernel"
)

// Near are the CPUs that threads of an end are bound to: those that read or write files, and those
// that send or receive data. None: they run anywhere.
type Near struct{ Disk, Net []int }

// bound has f run on a thread of its own that is bound to CPUs.
func bound(cpus []int, f func() error) func() error {
	if len(cpus) == 0 {
		return f
	}
	return func() error {
		runtime.LockOSThread()       // for good: the thread ends with its goroutine
		_ = kernel.SetAffinity(cpus) // of CPUs that were taken away meanwhile: it runs where it did
		return f()
	}
}
