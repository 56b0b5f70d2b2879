package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/explain"
)

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
	return func(c Case, seen explain.Case) error {
		name := strings.Join([]string{c.Fault, c.Severity, c.Workload, c.CC}, ".")
		b, err := json.Marshal(recording{1, name, seen})
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
		if err := os.WriteFile(filepath.Join(dir, name+".json.zst"), b, 0o644); err != nil {
			return fmt.Errorf("record %s: %w", name, err)
		}
		return nil
	}
}
