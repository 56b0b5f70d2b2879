package store

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Version is the newest version of the bundle format. A bundle has the lowest that its files need:
// LossesName needs 2.
const Version = 2

// Bounds on what is written and, so that a hostile bundle cannot exhaust memory, on what is read.
// A run of an hour stays far below each.
const (
	maxManifest = 1 << 20
	maxFiles    = 2048
	maxJSON     = 4 << 20   // one facts file
	maxResults  = 16 << 20  // results.json: a study of 4000 runs has some 4 KB of each
	maxAllJSON  = 32 << 20  // all of these together
	maxReport   = 64 << 20  // report.html
	maxSamples  = 256 << 20 // one samples file, compressed
)

// ErrNewer marks a bundle of a format version that this build does not know.
var ErrNewer = errors.New("written by a newer linerate")

// ErrDamaged marks a bundle that is incomplete or does not match its manifest.
var ErrDamaged = errors.New("damaged bundle")

// ErrNotFound marks a reference to a run that does not exist.
var ErrNotFound = errors.New("no such run")

// Manifest is manifest.json: the list of the bundle's files.
type Manifest struct {
	V       int       `json:"v"`
	Build   string    `json:"build"`
	Command string    `json:"command"`
	Created time.Time `json:"created"`
	Files   []File    `json:"files"` // every file but the manifest, sorted by name
}

// File is one file of a bundle.
type File struct {
	Name   string `json:"name"`           // slash-separated, relative to the bundle
	Host   string `json:"host,omitempty"` // the host it is about, as the user named it
	SHA256 string `json:"sha256"`         // of the file as stored, lower-case hex
	Size   int64  `json:"size"`           // bytes as stored
}

const (
	manifestName = "manifest.json"
	resultsName  = "results.json"
	reportName   = "report.html"
	samplesDir   = "samples/"
	samplesExt   = ".jsonl.zst"

	// LossesName has what a copy could not keep, where that is more than its results name.
	LossesName = "losses.jsonl.zst"
)

var hostFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(facts/([a-z0-9][a-z0-9._-]{0,95})\.json|samples/([a-z0-9][a-z0-9._-]{0,95})\.jsonl\.zst)$`)
})

// decodeManifest reads manifest.json of any version this build knows.
func decodeManifest(b []byte) (*Manifest, error) {
	var head struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", manifestName, ErrDamaged, err)
	}
	switch {
	case head.V == 1, head.V == 2: // which has one more file
		return decodeManifest1(b)
	case head.V > Version:
		return nil, newer(manifestName, head.V, Version)
	}
	return nil, fmt.Errorf("decode %s: %w: version %d was never written", manifestName, ErrDamaged, head.V)
}

func decodeManifest1(b []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", manifestName, ErrDamaged, err)
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("decode %s: %w: %w", manifestName, ErrDamaged, err)
	}
	return &m, nil
}

// newer says which part of a bundle has which version, and what to do.
func newer(part string, have, known int) error {
	return fmt.Errorf("decode %s: %w: its format is version %d, this build reads up to %d: open it with the linerate that wrote it, or a later one",
		part, ErrNewer, have, known)
}

// check refuses names that this format never has, since they are joined to a path.
func (m *Manifest) check() error {
	if len(m.Files) > maxFiles {
		return fmt.Errorf("lists %d files, more than %d", len(m.Files), maxFiles)
	}
	seen := map[string]bool{}
	var total int64
	for _, f := range m.Files {
		if f.Name != resultsName && f.Name != reportName && (f.Name != LossesName || m.V < 2) && !hostFile().MatchString(f.Name) {
			return fmt.Errorf("lists %q, which is no file of a bundle", f.Name)
		}
		if seen[f.Name] {
			return fmt.Errorf("lists %q twice", f.Name)
		}
		seen[f.Name] = true
		if b, err := hex.DecodeString(f.SHA256); err != nil || len(b) != 32 {
			return fmt.Errorf("has no SHA-256 for %q", f.Name)
		}
		if f.Size < 0 || f.Size > sizeLimit(f.Name) {
			return fmt.Errorf("gives %q %d bytes, more than the %d allowed", f.Name, f.Size, sizeLimit(f.Name))
		}
		if strings.HasSuffix(f.Name, ".json") {
			total += f.Size
		}
	}
	if total > maxAllJSON {
		return fmt.Errorf("lists %d bytes of JSON, more than the %d allowed", total, maxAllJSON)
	}
	if !seen[resultsName] {
		return fmt.Errorf("lists no %s", resultsName)
	}
	return nil
}

func sizeLimit(name string) int64 {
	switch {
	case name == manifestName:
		return maxManifest
	case name == reportName:
		return maxReport
	case name == resultsName:
		return maxResults
	case strings.HasSuffix(name, samplesExt):
		return maxSamples
	}
	return maxJSON
}
