package copy

import "time"

// cpuTime is not asked for where nothing is copied yet.
func cpuTime() time.Duration { return 0 }
