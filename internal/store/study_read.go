package store

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/internal/failure"
	"linerate/internal/kernel"
	"linerate/internal/model"
)

// StudyPast is the recorded state of a study.
type StudyPast struct {
	ID      string
	Begun   time.Time
	Begin   StudyBegin
	Raw     []byte // the study file as the user wrote it
	Entries []StudyEntry
}

// Runs are the recorded runs that may still count: StudyAnew marks earlier ones as not counted.
func (p *StudyPast) Runs() []model.StudyRun {
	var out []model.StudyRun
	for _, e := range p.Entries {
		switch {
		case e.Kind == StudyRan && e.Run != nil:
			out = append(out, *e.Run)
		case e.Kind == StudyAnew:
			for i := range out {
				out[i].Counted, out[i].Why = false, cmp.Or(out[i].Why, e.Why)
			}
		}
	}
	return out
}

// Finished is the entry of the study's end; nil: it is not over.
func (p *StudyPast) Finished() *StudyEntry {
	if n := len(p.Entries); n > 0 && p.Entries[n-1].Kind == StudyFinished {
		return &p.Entries[n-1]
	}
	return nil
}

// Stopped is how the last process ended before the study did; nil: the study is over, or the process
// runs, or was killed.
func (p *StudyPast) Stopped() *StudyEntry {
	if n := len(p.Entries); n > 0 && p.Entries[n-1].Kind == StudyStopped {
		return &p.Entries[n-1]
	}
	return nil
}

// ResumeStudy opens a recorded study to continue it. ref is its id or a prefix of one. It fails
// with ErrBusy while a process runs it.
func ResumeStudy(root, ref string) (*StudyState, *StudyPast, error) {
	id, err := resolveStudy(root, ref)
	if err != nil {
		return nil, nil, err
	}
	s, err := openStudy(filepath.Join(root, studiesDir), id)
	if err != nil {
		return nil, nil, err
	}
	past, err := ReadStudy(root, id)
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, past, nil
}

// ReadStudy reads the recorded state of a study, even while it runs.
func ReadStudy(root, ref string) (*StudyPast, error) {
	id, err := resolveStudy(root, ref)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(filepath.Join(root, studiesDir, id))
	if err != nil {
		return nil, fmt.Errorf("read study %s: %w", id, err)
	}
	defer dir.Close() // only read
	p := &StudyPast{ID: id}
	raw, err := readRegular(dir, stateName, maxState)
	if err == nil {
		p.Entries, err = parseState(raw)
	}
	if err == nil && (len(p.Entries) == 0 || p.Entries[0].Begin == nil) {
		err = fmt.Errorf("%w: it does not say what was begun", ErrDamaged)
	}
	if err != nil {
		return nil, fmt.Errorf("read study %s: %w", id, err)
	}
	p.Begun, p.Begin = p.Entries[0].At, *p.Entries[0].Begin
	if p.Raw, err = readRegular(dir, studyName, maxStudyFile); err != nil {
		return nil, fmt.Errorf("read study %s: %w", id, err)
	}
	return p, nil
}

// parseState reads state.jsonl. It ignores an incomplete last line, which a crash left.
func parseState(raw []byte) ([]StudyEntry, error) {
	var out []StudyEntry
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(raw, []byte{'\n'})
		if !whole {
			return out, nil
		}
		raw = rest
		if err := headVersion(fmt.Sprintf("line %d of %s", n, stateName), line, StudyEntryVersion); err != nil {
			return nil, err
		}
		var e StudyEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d of %s: %w: %w", n, stateName, ErrDamaged, err)
		}
		out = append(out, e)
	}
}

// Samples reads the samples of the runs for which keep is true.
func (s *StudyState) Samples(keep func(label string) bool) (Samples, error) {
	in, err := kernel.OpenNamed(filepath.Join(s.dir, thinnedName))
	if err != nil {
		return nil, fmt.Errorf("read the study's samples: %w", err)
	}
	defer in.Close() // only read
	sc := bufio.NewScanner(io.LimitReader(in, maxDecoded))
	sc.Buffer(nil, maxLine+1)
	out, memory := Samples{}, int64(maxMemory)
	for sc.Scan() {
		var t thinned
		if err := json.Unmarshal(sc.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("read the study's samples: %w: %w", ErrDamaged, err)
		}
		if !keep(t.Run) {
			continue
		}
		if memory -= footprint(&t.Sample); memory < 0 {
			break // the rest would be more than a bundle holds
		}
		if out[t.Run] == nil {
			out[t.Run] = map[string][]model.Sample{}
		}
		out[t.Run][t.Host] = append(out[t.Run][t.Host], t.Sample)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("read the study's samples: %w", err)
	}
	return out, nil
}

// StudySummary is one study in a list.
type StudySummary struct {
	ID       string    `json:"id"`
	Begun    time.Time `json:"begun"`
	Name     string    `json:"name"`
	Question string    `json:"question"`
	// State is "finished", "running" or "interrupted", or "damaged" with Why.
	State string `json:"state"`
	Runs  int    `json:"runs"`
	// Bundle holds the results of a finished study.
	Bundle string `json:"bundle,omitempty"`
	Why    string `json:"why,omitempty"`
}

// States of a StudySummary.
const (
	StudyIsFinished    = "finished"
	StudyIsRunning     = "running"
	StudyIsInterrupted = "interrupted"
	StudyIsDamaged     = "damaged"
)

// ListStudies returns the studies below the data directory root, newest first.
func ListStudies(root string) ([]StudySummary, error) {
	entries, err := os.ReadDir(filepath.Join(root, studiesDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list studies: %w", err)
	}
	var out []StudySummary
	for _, e := range slices.Backward(entries) { // their names begin with the time
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, summarizeStudy(root, e.Name()))
		}
	}
	return out, nil
}

func summarizeStudy(root, id string) StudySummary {
	s := StudySummary{ID: id, Begun: idTime(id)}
	p, err := ReadStudy(root, id)
	if err != nil {
		s.State, s.Why = StudyIsDamaged, err.Error()
		return s
	}
	s.Begun, s.Name, s.Question, s.Runs = p.Begun, p.Begin.File.Name, p.Begin.File.Question, len(p.Runs())
	if end := p.Finished(); end != nil {
		s.State, s.Why, s.Bundle = StudyIsFinished, end.Why, end.Bundle
		return s
	}
	lock, err := lockStudy(filepath.Join(root, studiesDir, id))
	if errors.Is(err, ErrBusy) {
		s.State = StudyIsRunning
		return s
	}
	s.State = StudyIsInterrupted
	if err == nil {
		err = kernel.UnlockFile(lock)
	}
	if err != nil {
		s.Why = err.Error()
	}
	return s
}

// resolveStudy completes the prefix of an id; "last" is the newest.
func resolveStudy(root, ref string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(root, studiesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find study: %w", err)
	}
	var all, found []string
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		all = append(all, e.Name())
		if ref == "last" || strings.HasPrefix(e.Name(), ref) {
			if e.Name() == ref {
				return ref, nil
			}
			found = append(found, e.Name())
		}
	}
	switch {
	case ref == "" || len(found) == 0:
		return "", likely(fmt.Errorf("find study %q: %w", ref, ErrNotFound), ref, all, failure.ListStudies)
	case ref == "last" || len(found) == 1:
		return found[len(found)-1], nil
	}
	return "", fmt.Errorf("find study %q: it is the beginning of %s: write more of it", ref, strings.Join(found, ", "))
}
