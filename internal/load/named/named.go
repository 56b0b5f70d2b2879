// Package named holds workloads under the names that their papers gave them, as
// data: shape, threads and requests in flight, with the source. It refuses to
// say how large a file should be or which one: that is the user's.
package named

import (
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// Workload is one that a paper ran.
type Workload struct {
	Name    string      `json:"name"`
	About   string      `json:"about"`
	Source  string      `json:"source"`
	Shape   shape.Shape `json:"shape"` // without an area
	Threads int         `json:"threads"`
	Depth   int         `json:"depth"` // requests in flight per thread
	// Run is how long the paper ran it, and Runs how often; 0: it does not say.
	Run  time.Duration `json:"run_ns,omitempty"`
	Runs int           `json:"runs,omitempty"`
}

// Find returns the workload of a name.
func Find(name string) (Workload, bool) {
	for _, w := range All() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

// All lists the workloads in the order of their papers.
func All() []Workload {
	const dell = "Dell BP1057 (2013), section 3 and appendix C: eight volumes, five threads each, here on one target"
	const nappit = "napp-it, ZFS storage principles for high performance SMB file servers (undated; it names Dec 2015, 8 Jan 2016 and Pro 2016.05), filebench"
	return []Workload{
		{
			Name: "dell-8k-random", About: "8 KiB at random, two reads to a write, by chance and not in turns", Source: dell,
			Shape: block(shape.Random, 0.67, 8*unit.KiB), Threads: 1, Depth: 40, Run: 20 * time.Minute, Runs: 3,
		},
		{
			Name: "dell-256k-read", About: "256 KiB, sequential, reads", Source: dell,
			Shape: block(shape.Sequential, 1, 256*unit.KiB), Threads: 1, Depth: 40, Run: 20 * time.Minute, Runs: 3,
		},
		{
			Name: "dell-256k-write", About: "256 KiB, sequential, writes", Source: dell,
			Shape: block(shape.Sequential, 0, 256*unit.KiB), Threads: 1, Depth: 40, Run: 20 * time.Minute, Runs: 3,
		},
		{
			Name: "filebench-singlestreamread", About: "1 MiB, sequential, one reader", Source: nappit,
			Shape: block(shape.Sequential, 1, unit.MiB), Threads: 1, Depth: 1,
		},
		{
			Name: "filebench-singlestreamwrite", About: "1 MiB, sequential, one writer", Source: nappit,
			Shape: block(shape.Sequential, 0, unit.MiB), Threads: 1, Depth: 1,
		},
	}
}

func block(p shape.Pattern, read float64, size unit.Bytes) shape.Shape {
	return shape.Shape{Pattern: p, Read: read, Sizes: []shape.SizeShare{{Size: size, Share: 1}}, Arrivals: shape.Closed}
}
