package worker

import (
	"errors"
	"net/netip"
	"time"

	"linerate/internal/load"
	"linerate/internal/load/frames"
	"linerate/internal/load/storage"
	"linerate/internal/model"
)

// MaxEvent bounds the line of an Event: the longest has the histograms and seconds of a
// run.
const MaxEvent = 12 << 20

// Kind of an Event.
type Kind string

// The events of a phase come in this order. Only a sink sends Listening, and only a
// target that has to be written first sends Filling, which has no time limit. Armed
// confirms the instant at which the load is to begin. Seen repeats while the load runs.
// Over follows the last phase and ends the task; Failed ends it at any point.
const (
	Listening Kind = "listening" // Addr
	Filling   Kind = "filling"   // Text is what
	Ready     Kind = "ready"     // Up: the phase waits at the barrier
	Armed     Kind = "armed"
	Started   Kind = "started"
	Seen      Kind = "seen"     // Work since the last Seen
	Finished  Kind = "finished" // Result
	Over      Kind = "over"
	Failed    Kind = "failed" // Text is why
)

// Event is one line of a worker's standard output.
type Event struct {
	V     int    `json:"v"`
	Kind  Kind   `json:"event"`
	Phase int    `json:"phase"`
	Text  string `json:"text,omitempty"`
	// At is when it happened, by the host's clock.
	At   time.Time      `json:"at"`
	PID  int            `json:"pid,omitempty"`
	Addr netip.AddrPort `json:"addr,omitzero"`
	load.Up
	Result *Result `json:"result,omitempty"`
	Work   *Work   `json:"work,omitempty"`
	// Refused goes with a Failed that is a load.RefusedError, and Unreached with one that
	// is a load.UnreachedError.
	Refused   bool             `json:"refused,omitempty"`
	Unreached *model.Unreached `json:"unreached,omitempty"`
}

// Work counts what was completed since the run began, warm-up included, with the longest latency since
// the last Seen.
type Work struct {
	Requests int64         `json:"requests"`
	Bytes    int64         `json:"bytes"`
	Longest  time.Duration `json:"longest_ns"`
	// HeldBy is where the load spent most of its time since the last Seen; empty: not known.
	HeldBy string `json:"held_by,omitempty"`
}

// Result is what a phase did.
type Result struct {
	// Interrupted: the load was stopped before its planned end.
	Interrupted bool              `json:"interrupted,omitempty"`
	Load        *load.Result      `json:"load,omitempty"`
	Block       *storage.Measured `json:"block,omitempty"` // also of a job
	Frames      *frames.Result    `json:"frames,omitempty"`
	// NotDirect: the target refused direct I/O, so that frames went through the page cache.
	NotDirect bool `json:"not_direct,omitempty"`
}

// failed is the last event of a worker that ended with err.
func failed(err error) Event {
	e := Event{Kind: Failed, Text: err.Error()}
	var refused *load.RefusedError
	e.Refused = errors.As(err, &refused)
	var not *load.UnreachedError
	if errors.As(err, &not) {
		e.Unreached = &not.Unreached
	}
	return e
}

// Err is the error that a Failed event reports, with its kind; nil for every other event.
func (e *Event) Err() error {
	switch {
	case e.Kind != Failed:
		return nil
	case e.Unreached != nil:
		return &load.UnreachedError{Unreached: *e.Unreached}
	case e.Refused:
		return &load.RefusedError{Err: errors.New(e.Text)}
	}
	return errors.New(e.Text)
}
