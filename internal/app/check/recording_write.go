package check

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/kernel/snapshot"
)

// writer writes the files of a recording: into a folder one by one, into an archive all at the end.
type writer struct {
	Recording
	to    string
	files []snapshot.File
}

// newWriter fails if the archive exists, so that the host is not read in vain.
func newWriter(to string) (*writer, error) {
	w := &writer{to: to}
	if !w.archive() {
		return w, nil
	}
	_, err := os.Lstat(to)
	switch {
	case err == nil:
		return nil, recordError(to, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return w, nil
	}
	return nil, recordError(to, err)
}

func (w *writer) archive() bool { return strings.HasSuffix(w.to, snapshot.ArchiveExt) }

// add adds a file.
func (w *writer) add(name string, b []byte) error {
	if w.archive() {
		w.files = append(w.files, snapshot.File{Name: name, Data: b})
		return nil
	}
	file := filepath.Join(w.to, name)
	if err := os.MkdirAll(w.to, 0o755); err != nil {
		return recordError(file, err)
	}
	if err := writeNew(file, b); err != nil {
		return recordError(file, err)
	}
	if w.Bytes += len(b); w.File == "" {
		w.File = file
	}
	return nil
}

// done ends the recording, unless it failed.
func (w *writer) done(err error) (Recording, error) {
	if err != nil || !w.archive() {
		return w.Recording, err
	}
	if err := os.MkdirAll(filepath.Dir(w.to), 0o755); err != nil {
		return w.Recording, recordError(w.to, err)
	}
	n, err := snapshot.WriteArchive(w.to, w.files)
	if err != nil {
		return w.Recording, recordError(w.to, err)
	}
	return Recording{File: w.to, Bytes: n}, nil
}

// recordError says which name to change.
func recordError(file string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return failure.Of(failure.Usage, "record a snapshot: %s is there already; choose a new name", file)
	}
	return fmt.Errorf("record a snapshot: %w", err)
}

// writeNew writes a file that must not be there yet.
func writeNew(file string, b []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}
