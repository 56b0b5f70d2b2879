package storage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/load/frames"
	"linerate/internal/unit"
)

// Version of Task and Event that this build speaks.
const Version = 1

// Bounds of a Task.
const (
	MaxTask     = 4 << 20 // bytes of its line
	maxDuration = 48 * time.Hour
	maxJobs     = 1000
)

// Task is everything a worker is told: exactly one of Block, Frames and Jobs.
type Task struct {
	V      int          `json:"v"`
	Block  *BlockTask   `json:"block,omitempty"`
	Frames *frames.Spec `json:"frames,omitempty"`
	Jobs   *JobsTask    `json:"jobs,omitempty"`
	// Memory that the worker and what the page cache holds for it have at most; 0: no
	// limit.
	Memory unit.Bytes `json:"memory_bytes,omitempty"`
	// Deadline bounds the life of the worker, whatever happens.
	Deadline time.Duration `json:"deadline_ns"`
}

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
	Dir  string        `json:"dir"` // an existing directory; files are made in one of their own below it
	Jobs []dialect.Job `json:"jobs"`
	Size unit.Bytes    `json:"size,omitempty"` // of each file, whatever the jobs say; 0: as they say
	// Stuck is how long the target may take to answer; 0: block.StuckAfter.
	Stuck time.Duration `json:"stuck_ns,omitempty"`
}

// DecodeTask reads one line; unknown fields and values out of bounds are errors.
func DecodeTask(line []byte) (Task, error) {
	var t Task
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return Task{}, fmt.Errorf("read task: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Task{}, errors.New("read task: data after it")
	}
	if err := t.Check(); err != nil {
		return Task{}, fmt.Errorf("read task: %w", err)
	}
	return t, nil
}

// Check says why the task cannot be had. Paths must be absolute: a worker has no
// directory that its user knows.
func (t *Task) Check() error {
	n, path := 0, ""
	if t.Block != nil {
		n, path = n+1, t.Block.Spec.Path
	}
	if t.Frames != nil {
		n, path = n+1, t.Frames.Dir
	}
	if t.Jobs != nil {
		n, path = n+1, t.Jobs.Dir
	}
	switch {
	case t.V != Version:
		return fmt.Errorf("version %d, this build speaks %d", t.V, Version)
	case n != 1:
		return fmt.Errorf("%d things to do, want one", n)
	case t.Memory < 0:
		return fmt.Errorf("memory of %d bytes", t.Memory)
	case !filepath.IsAbs(path):
		return fmt.Errorf("%q is no absolute path", path)
	case t.Deadline <= 0 || t.Deadline > maxDuration:
		return fmt.Errorf("deadline %v, want above 0 and at most %v", t.Deadline, maxDuration)
	case t.Block != nil && t.Block.Spec.Engine == block.Null:
		return errors.New("no target is no task for another host")
	case t.Jobs != nil && (len(t.Jobs.Jobs) < 1 || len(t.Jobs.Jobs) > maxJobs):
		return fmt.Errorf("%d jobs, want 1 to %d", len(t.Jobs.Jobs), maxJobs)
	case t.Frames != nil:
		return t.Frames.Check()
	}
	return nil
}

// Kind of an Event.
type Kind string

// Filling: the target is being filled, which takes as long as it does. Ready:
// the phase waits at the barrier. Armed: it will begin at the instant it was
// given. Started, Finished: it has. Seen: what was completed since the last Seen.
// Over: no phase is left. Failed: nor will there be.
const (
	Filling  Kind = "filling"
	Ready    Kind = "ready"
	Armed    Kind = "armed"
	Started  Kind = "started"
	Finished Kind = "finished"
	Seen     Kind = "seen"
	Over     Kind = "over"
	Failed   Kind = "failed"
)

// Event is a line that a worker says.
type Event struct {
	V     int    `json:"v"`
	Kind  Kind   `json:"kind"`
	Phase int    `json:"phase"`
	Text  string `json:"text,omitempty"`
	// At is when it happened, by the host's clock.
	At     time.Time `json:"at"`
	Result *Result   `json:"result,omitempty"`
	Work   *Work     `json:"work,omitempty"`
	// Refused: it is the user's to change what was asked for, and Text says how.
	Refused bool `json:"refused,omitempty"`
}

// Work is what was completed, and the longest latency of that.
type Work struct {
	Requests int64         `json:"requests"`
	Bytes    int64         `json:"bytes"`
	Longest  time.Duration `json:"longest_ns"`
	// HeldBy is where most of its time went since it last told; empty: it is not seen.
	HeldBy string `json:"held_by,omitempty"`
}

// Result is what a phase did.
type Result struct {
	// Interrupted: it was told to end before its time.
	Interrupted bool           `json:"interrupted,omitempty"`
	Block       *Measured      `json:"block,omitempty"`
	Frames      *frames.Result `json:"frames,omitempty"`
	// NotDirect: frames went through the page cache, which could not be passed by.
	NotDirect bool `json:"not_direct,omitempty"`
}

// RefusalError is a target or a load that is the user's to change; it says how.
type RefusalError struct{ Err error }

// Error implements error.
func (e *RefusalError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *RefusalError) Unwrap() error { return e.Err }

func refuse(format string, args ...any) error { return &RefusalError{fmt.Errorf(format, args...)} }
