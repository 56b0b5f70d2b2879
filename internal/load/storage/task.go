package storage

import (
	"time"

	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/unit"
)

// BlockTask is a workload on one file or device that exists.
type BlockTask struct {
	Name    string     `json:"name"`
	Spec    block.Spec `json:"spec"`
	Destroy string     `json:"destroy,omitempty"` // the target's second name
	Fill    bool       `json:"fill,omitempty"`    // write what was never written first
	// DropCache has the page cache forget the target before the run.
	DropCache bool `json:"drop_cache,omitempty"`
}

// JobsTask is a row of runs, each of which begins at a barrier of its own.
type JobsTask struct {
	// Dir is an existing directory: files are made in one of their own below it; empty: the
	// targets exist.
	Dir  string        `json:"dir"`
	Jobs []dialect.Job `json:"jobs"`
	Size unit.Bytes    `json:"size,omitempty"` // of each file, whatever the jobs say; 0: as they say
	// For is how long is measured, whatever the jobs say; 0: as they say.
	For     time.Duration `json:"for_ns,omitempty"`
	Destroy []string      `json:"destroy,omitempty"` // targets that were named twice
	Fill    bool          `json:"fill,omitempty"`    // write what was never written first
	// Stuck is how long the target may take to answer; 0: block.StuckAfter.
	Stuck time.Duration `json:"stuck_ns,omitempty"`
}
