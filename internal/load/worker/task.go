package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/load/frames"
	"linerate/internal/load/storage"
	"linerate/internal/unit"
)

// Version of Task and Event that this build speaks. Version 1 was two protocols.
const Version = 2

// Bounds of a Task.
const (
	MaxTask     = 4 << 20 // bytes of its line
	maxDeadline = 48 * time.Hour
	maxJobs     = 1000
)

// Task is everything a worker is told: exactly one of Load, Block, Frames and Jobs, and
// what bounds it.
type Task struct {
	V int `json:"v"`
	// Load runs for a time: streams, or a load of a ladder's or a study's run.
	Load *load.Spec `json:"load,omitempty"`
	// Block is a workload on one file or device, with all that can be said of it.
	Block *storage.BlockTask `json:"block,omitempty"`
	// Frames are recorded or played, so many of them.
	Frames *frames.Spec `json:"frames,omitempty"`
	// Jobs are runs one after the other, each of which is a phase with a start of its own.
	Jobs *storage.JobsTask `json:"jobs,omitempty"`
	// Memory that the worker and what the page cache holds for it have at most; 0: no
	// limit. A Load has none.
	Memory unit.Bytes `json:"memory_bytes,omitempty"`
	// Deadline bounds the life of the worker, whatever happens.
	Deadline time.Duration `json:"deadline_ns"`
}

// DecodeTask reads one line; unknown fields, data after the task and values out of bounds
// are errors.
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
	n := 0
	for _, given := range []bool{t.Load != nil, t.Block != nil, t.Frames != nil, t.Jobs != nil} {
		if given {
			n++
		}
	}
	switch {
	case t.V != Version:
		return fmt.Errorf("version %d, this build speaks %d", t.V, Version)
	case n != 1:
		return fmt.Errorf("%d things to do, want one", n)
	case t.Memory < 0:
		return fmt.Errorf("memory of %d bytes", t.Memory)
	case t.Deadline <= 0 || t.Deadline > maxDeadline:
		return fmt.Errorf("deadline %v, want above 0 and at most %v", t.Deadline, maxDeadline)
	}
	return t.checkWork()
}

func (t *Task) checkWork() error {
	switch {
	case t.Load != nil && t.Memory > 0:
		return errors.New("a limit of memory is for loads on storage")
	case t.Load != nil:
		return t.Load.Check()
	case t.Block != nil && t.Block.Spec.Engine == block.Null:
		return errors.New("no target is no task for another host")
	case t.Block != nil:
		return absolute(t.Block.Spec.Path)
	case t.Frames != nil:
		return errors.Join(absolute(t.Frames.Dir), t.Frames.Check())
	case len(t.Jobs.Jobs) < 1 || len(t.Jobs.Jobs) > maxJobs:
		return fmt.Errorf("%d jobs, want 1 to %d", len(t.Jobs.Jobs), maxJobs)
	}
	if t.Jobs.Dir != "" {
		return absolute(t.Jobs.Dir)
	}
	for _, j := range t.Jobs.Jobs {
		for _, target := range j.Targets {
			if err := absolute(target.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

func absolute(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is no absolute path", path)
	}
	return nil
}

// Ending is how long a worker may take to end by itself once its input has ended: what a
// load on storage has made has to be removed.
func (t *Task) Ending() time.Duration {
	if t.Load != nil {
		return 2 * time.Second
	}
	return 20 * time.Second
}
