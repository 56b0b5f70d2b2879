package kernel

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"time"
)

// CPUGroup is a process's place in the hierarchy that limits its CPU time.
type CPUGroup struct {
	V2   bool
	Path string // within the hierarchy, "/" is its root
}

// ParseCPUGroup reads /proc/PID/cgroup: the v1 hierarchy of the cpu controller
// where there is one, else v2.
func ParseCPUGroup(b []byte) (CPUGroup, error) {
	var v2 *CPUGroup
	for line := range bytes.Lines(b) {
		f := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(f) < 3 {
			return CPUGroup{}, fmt.Errorf("parse cgroup line %q: want three fields", strings.TrimSpace(string(line)))
		}
		for c := range strings.SplitSeq(f[1], ",") {
			if c == "cpu" {
				return CPUGroup{Path: path.Clean("/" + f[2])}, nil
			}
		}
		if f[0] == "0" && f[1] == "" {
			v2 = &CPUGroup{V2: true, Path: path.Clean("/" + f[2])}
		}
	}
	if v2 == nil {
		return CPUGroup{}, fmt.Errorf("parse cgroup: neither a cpu controller nor cgroup v2")
	}
	return *v2, nil
}

// ParseThrottled reads from a cgroup's cpu.stat how long a CPU quota throttled its tasks:
// throttled_time in ns (v1) or throttled_usec (v2). ok is false if the file has neither, as in
// the root of v2.
func ParseThrottled(b []byte) (d time.Duration, ok bool, err error) {
	for line := range bytes.Lines(b) {
		k, v, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		unit := map[string]time.Duration{"throttled_time": time.Nanosecond, "throttled_usec": time.Microsecond}[k]
		if unit == 0 {
			continue
		}
		n, err := number(v)
		if err != nil {
			return 0, false, fmt.Errorf("parse cpu.stat %s: %w", k, err)
		}
		return scaled(n, unit), true, nil
	}
	return 0, false, nil
}
