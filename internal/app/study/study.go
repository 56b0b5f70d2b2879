// Package study is the work of the study commands: it plans a study, runs it, goes
// on with one that was interrupted, and finds those on record. It refuses to begin
// what its plan refuses, to resume on hosts that have become others unless that is
// asked for, and to ask anybody itself: its caller does, when it is called back.
package study

import (
	"fmt"

	"linerate/internal/store"
	"linerate/internal/study/file"
)

// What the surface needs of the rooms below to list and print studies.
type (
	// Summary is a line of the list of studies.
	Summary = store.StudySummary
	// Template is a study file to begin with.
	Template = file.Template
)

// States of a Summary, a protocol and a design that are printed differently.
const (
	Finished      = store.StudyIsFinished
	Running       = store.StudyIsRunning
	Damaged       = store.StudyIsDamaged
	PaperProtocol = file.Paper
	Sequence      = file.Sequence
	Search        = file.Search
)

// Crossed tells whether each block of a design runs all cases.
func Crossed(design string) bool { return file.Crossed(design) }

// Templates are the study files to begin with, in the order in which they are shown.
func Templates() []Template { return file.Templates() }

// FindTemplate is the template of that name.
func FindTemplate(name string) (Template, error) { return file.FindTemplate(name) }

// Schema is the JSON Schema of study files.
func Schema() []byte { return file.Schema() }

// OverError: there is nothing to resume, for the study is finished.
type OverError struct{ ID, Bundle string }

// Error implements error.
func (e *OverError) Error() string { return "study " + e.ID + " is over" }

// OtherFileError: the study that was to be resumed was begun by another file, whose
// copy is in Dir.
type OtherFileError struct{ ID, Dir string }

// Error implements error.
func (e *OtherFileError) Error() string {
	return fmt.Sprintf("study %s was begun by another file: its copy is %s/study.yaml", e.ID, e.Dir)
}

// NotAStudyError: a bundle is of another command.
type NotAStudyError struct{ ID, Command string }

// Error implements error.
func (e *NotAStudyError) Error() string { return e.ID + " is no study but " + e.Command }

// StoppedError: a study ended before its end, and can be resumed.
type StoppedError struct {
	ID      string
	Runs    int  // on record
	Changed bool // a host is not what it was: runs of before and after cannot be compared
	Unkept  bool // all runs are made; the bundle could not be written
	Err     error
}

// Error implements error.
func (e *StoppedError) Error() string { return "study " + e.ID + " stopped: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *StoppedError) Unwrap() error { return e.Err }
