package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// A study under way keeps its state in
//
//	<data>/studies/<id>/
//	    study.yaml      the file as the user wrote it
//	    state.jsonl     one StudyEntry a line, on disk before the study goes on
//	    facts/<host>.json  the first look, to which the end is compared
//	    samples.jsonl   samples of the runs on record, thinned
//	    lock            held while a process works on it
//
// so that it can be taken up after its process, or the machine, died. It stays
// when the study is over; its results are then a bundle.
const (
	studiesDir   = "studies"
	stateName    = "state.jsonl"
	studyName    = "study.yaml"
	thinnedName  = "samples.jsonl"
	lockName     = "lock"
	maxStudyFile = 1 << 20
	maxState     = 128 << 20
)

// StudyEntryVersion is the version of StudyEntry that this build writes.
const StudyEntryVersion = 1

// ErrBusy: another process is running the study.
var ErrBusy = errors.New("another linerate is at work on this study: wait for it to end")

// Kinds of a StudyEntry.
const (
	StudyBegun    = "begin"
	StudyRan      = "run"
	StudyPlanned  = "plan"     // a change that is about to be made
	StudyAsked    = "operator" // what an operator did or skipped
	StudyResumed  = "resume"
	StudyAnew     = "anew" // what was measured before does not count any more
	StudyStopped  = "stop" // its process ended before the study did, with Why and Restored
	StudyFinished = "end"
)

// StudyEntry is one step of a study, a line of state.jsonl.
type StudyEntry struct {
	V     int             `json:"v"`
	Kind  string          `json:"kind"`
	At    time.Time       `json:"at"`
	Begin *StudyBegin     `json:"begin,omitempty"`
	Run   *model.StudyRun `json:"run,omitempty"`
	Plan  string          `json:"plan,omitempty"`
	Host  string          `json:"host,omitempty"`
	// Changes of a plan: what it sets, to record what was reverted.
	Changes []model.Change `json:"changes,omitempty"`
	Factor  string         `json:"factor,omitempty"`
	Level   string         `json:"level,omitempty"`
	Skipped bool           `json:"skipped,omitempty"`
	Why     string         `json:"why,omitempty"`
	Bundle  string         `json:"bundle,omitempty"` // of the end: the id of the bundle
	// Restored: of a stop: everything was as it was before the study.
	Restored bool `json:"restored,omitempty"`
}

// StudyBegin is the input of a study.
type StudyBegin struct {
	File    model.StudyFile `json:"file"`
	Command string          `json:"command"`
	Build   string          `json:"build"`
}

// StudyState is the state of one study on disk, open for writing. It is for one goroutine.
type StudyState struct {
	id, dir string
	lock    *os.File
	log     *os.File
	samples *os.File
}

// CreateStudy creates the state of a study below the data directory root. raw is the study file
// as the user wrote it.
func CreateStudy(root string, b StudyBegin, raw []byte, now time.Time) (*StudyState, error) {
	studies := filepath.Join(root, studiesDir)
	if err := os.MkdirAll(studies, 0o700); err != nil {
		return nil, fmt.Errorf("keep the study: %w: set XDG_DATA_HOME to a directory you may write", err)
	}
	token, err := randomToken()
	if err != nil {
		return nil, err
	}
	id := newID(now, word(b.File.Name), token)
	dir := filepath.Join(studies, id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the study: %w", err)
	}
	s, err := openStudy(studies, id)
	if err != nil {
		return nil, err
	}
	if err := writeSynced(filepath.Join(dir, studyName), raw); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.Put(StudyEntry{Kind: StudyBegun, At: now, Begin: &b}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, errors.Join(syncDir(dir), syncDir(studies))
}

// openStudy locks a study's folder and opens its files for appending.
func openStudy(studies, id string) (s *StudyState, err error) {
	dir := filepath.Join(studies, id)
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("open study %s: %w", id, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open study %s: %s is no folder", id, dir)
	}
	s = &StudyState{id: id, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.lock, err = lockStudy(dir); err != nil {
		return s, fmt.Errorf("open study %s: %w", id, err)
	}
	if s.log, err = appendTo(filepath.Join(dir, stateName)); err != nil {
		return s, err
	}
	s.samples, err = appendTo(filepath.Join(dir, thinnedName))
	return s, err
}

// lockStudy locks a study's folder, or fails with ErrBusy.
func lockStudy(dir string) (*os.File, error) {
	f, err := kernel.LockFile(filepath.Join(dir, lockName))
	if errors.Is(err, kernel.ErrLocked) {
		err = ErrBusy
	}
	return f, err
}

// appendTo opens a file of whole lines for appending. It truncates an incomplete last line, which
// a crash left.
func appendTo(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the study's state: %w", err)
	}
	whole, err := wholeLines(f)
	if err == nil {
		err = f.Truncate(whole)
	}
	if err == nil {
		_, err = f.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the study's state %s: %w", path, err), f.Close())
	}
	return f, nil
}

// wholeLines is the length of a file up to its last line break.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	const step = 4096
	buf := make([]byte, step)
	for end := info.Size(); end > 0; {
		from := max(0, end-step)
		n, err := f.ReadAt(buf[:end-from], from)
		if err != nil {
			return 0, err
		}
		for i := n - 1; i >= 0; i-- {
			if buf[i] == '\n' {
				return from + int64(i) + 1, nil
			}
		}
		end = from
	}
	return 0, nil
}

// ID is the study's id.
func (s *StudyState) ID() string { return s.id }

// Dir is the study's folder.
func (s *StudyState) Dir() string { return s.dir }

// Put writes an entry and returns once it is on disk.
func (s *StudyState) Put(e StudyEntry) error {
	e.V = StudyEntryVersion
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("keep the study's state: %w", err)
	}
	whole, err := s.log.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = s.log.Write(append(b, '\n'))
	}
	if err == nil {
		err = s.log.Sync()
	}
	if err != nil { // half a line would spoil the next one
		_, serr := s.log.Seek(whole, io.SeekStart)
		return fmt.Errorf("keep the study's state: %w", errors.Join(err, s.log.Truncate(whole), serr))
	}
	return nil
}

// PutFacts writes the first facts of a host.
func (s *StudyState) PutFacts(f *model.Facts) error {
	dir := filepath.Join(s.dir, "facts")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keep what was seen of %s: %w", f.Host, err)
	}
	b, err := json.Marshal(f)
	if err == nil {
		err = writeSynced(filepath.Join(dir, hostName(f.Host)+".json"), b)
	}
	if err != nil {
		return fmt.Errorf("keep what was seen of %s: %w", f.Host, err)
	}
	return syncDir(dir)
}

// Facts reads the first facts of a host; nil: there are none.
func (s *StudyState) Facts(host string) (*model.Facts, error) {
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() // only read
	name := filepath.Join("facts", hostName(host)+".json")
	raw, err := readRegular(root, name, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read what was seen of %s: %w", host, err)
	}
	return decode[model.Facts](name, raw, model.FactsVersion)
}

// PutSamples writes samples of a run; they count once the run is recorded, and are synced with
// the run's entry at the latest.
func (s *StudyState) PutSamples(label string, samples map[string][]model.Sample) error {
	for host, all := range samples {
		for _, one := range all {
			b, err := json.Marshal(thinned{label, host, one})
			if err == nil && len(b) < maxLine {
				_, err = s.samples.Write(append(b, '\n'))
			}
			if err != nil {
				return fmt.Errorf("keep samples of run %q: %w", label, err)
			}
		}
	}
	if err := s.samples.Sync(); err != nil {
		return fmt.Errorf("keep samples of run %q: %w", label, err)
	}
	return nil
}

// thinned is one line of samples.jsonl.
type thinned struct {
	Run    string       `json:"run"`
	Host   string       `json:"host"`
	Sample model.Sample `json:"sample"`
}

// Close closes the study's files and releases the lock; the files stay.
func (s *StudyState) Close() error {
	var errs []error
	for _, f := range []*os.File{s.log, s.samples} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if s.lock != nil {
		errs = append(errs, kernel.UnlockFile(s.lock))
	}
	return errors.Join(errs...)
}

// Finish records that the study is over and which bundle holds its results, and from then on its
// samples.
func (s *StudyState) Finish(at time.Time, why, bundle string) error {
	if err := s.Put(StudyEntry{Kind: StudyFinished, At: at, Why: why, Bundle: bundle}); err != nil {
		return err
	}
	if err := s.samples.Truncate(0); err != nil {
		return fmt.Errorf("drop the samples that the bundle has: %w", err)
	}
	return nil
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
