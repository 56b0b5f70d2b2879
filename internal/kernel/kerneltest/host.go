// Package kerneltest gives tests the recorded hosts of package snapshot under shorter names. It
// adds nothing, and no program imports it.
package kerneltest

import (
	"linerate/internal/kernel"
	"linerate/internal/kernel/snapshot"
)

// Host is a recorded host whose files a test may change between reads.
type Host = snapshot.Host

// Recorder keeps what is read through it.
type Recorder = snapshot.Recorder

// Load reads a host from a txtar file.
func Load(file string) (*Host, error) { return snapshot.Load(file) }

// Parse reads a host from a txtar archive.
func Parse(archive []byte) *Host { return snapshot.Parse(archive) }

// NewRecorder records what is read of src.
func NewRecorder(src kernel.Source) *Recorder { return snapshot.NewRecorder(src) }
