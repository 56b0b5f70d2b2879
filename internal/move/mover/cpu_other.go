//go:build !unix

package mover

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
