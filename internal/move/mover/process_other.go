//go:build !unix

package mover

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }

// plainModes: there are no masks here.
func plainModes() {}
