package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/explain"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// recordingVersion is the version of a recording.
const recordingVersion = 1

// recording is what a verdict was concluded from, in the form of
// testdata/recordings.
type recording struct {
	V    int          `json:"v"`
	Name string       `json:"name"`
	Case explain.Case `json:"case"`
}

// recorder keeps recordings in a folder, named by fault, severity, workload and
// congestion control.
func recorder(dir string) func(Case, explain.Case) error {
	keep := keeper(dir)
	return func(c Case, seen explain.Case) error {
		return keep(recordingName(c), seen)
	}
}

// recordingName is the case as a file's name.
func recordingName(c Case) string {
	name := strings.Join([]string{c.Fault, c.Severity, c.Workload, c.CC, strconv.Itoa(c.Repeat)}, ".")
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' {
			return '_'
		}
		return r
	}, name)
}

// keeper keeps recordings in a folder by their name. Goodput as the application
// counted it is left out: a verdict does without.
func keeper(dir string) func(name string, seen explain.Case) error {
	return func(name string, seen explain.Case) error {
		seen.Goodput = model.Fact[unit.BitRate]{}
		b, err := json.Marshal(recording{recordingVersion, name, seen})
		if err != nil {
			return fmt.Errorf("record %s: %w", name, err)
		}
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
		if err != nil {
			return fmt.Errorf("record %s: %w", name, err)
		}
		b = enc.EncodeAll(b, nil)
		if err := enc.Close(); err != nil {
			return fmt.Errorf("record %s: %w", name, err)
		}
		err = os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".json.zst"), b, 0o644)
		}
		if err != nil {
			return fmt.Errorf("record %s: %w", name, err)
		}
		return nil
	}
}
