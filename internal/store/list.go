package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// State tells whether a listed bundle can be opened.
type State string

// The states of a bundle in a list.
const (
	Complete State = "complete"
	Damaged  State = "damaged" // a file is missing or is not what the manifest says
	Newer    State = "newer"   // this build is too old for it
)

// Summary is one bundle in a list. For a damaged bundle only ID, Path, State, Why and, if the id
// shows it, Created are set.
type Summary struct {
	ID      string          `json:"id"`
	Path    string          `json:"path"`
	Created time.Time       `json:"created"`
	Command string          `json:"command"`
	State   State           `json:"state"`
	Why     string          `json:"why,omitempty"` // for every state but complete
	Verdict string          `json:"verdict"`       // the verdict's line
	Limiter model.LimiterID `json:"limiter"`
	// ShareOfCeiling and Ratio are null if the run had none.
	ShareOfCeiling *float64 `json:"share_of_ceiling"`
	Ratio          *float64 `json:"ratio"`
	// Ladder has what the run measured of its rungs, for LastLadder.
	Ladder  []model.Rung `json:"-"`
	hosts   []string
	ceiling *unit.BitRate
}

// List returns the bundles below the data directory root, newest first. A damaged one is listed
// as such; the error concerns the whole folder, and a missing folder holds no bundles. List
// checks sizes and results.json; only Open hashes the rest, so that a list stays fast.
func List(root string) ([]Summary, error) { return ListSince(root, time.Time{}) }

// ListSince is List without the bundles whose id says that they are of an earlier second: those are
// not read.
func ListSince(root string, since time.Time) ([]Summary, error) {
	runs := filepath.Join(root, runsDir)
	entries, err := os.ReadDir(runs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	var out []Summary
	since = since.Truncate(time.Second)
	for _, e := range entries {
		if at := idTime(e.Name()); !at.IsZero() && at.Before(since) {
			continue
		}
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			out = append(out, summarize(filepath.Join(runs, e.Name())))
		}
	}
	slices.SortFunc(out, func(a, b Summary) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return out, nil
}

func summarize(dir string) Summary {
	s := Summary{ID: filepath.Base(dir), Path: dir, State: Complete, Created: idTime(filepath.Base(dir))}
	m, r, err := glance(dir)
	switch {
	case errors.Is(err, ErrNewer):
		s.State, s.Why = Newer, err.Error()
		return s
	case err != nil:
		s.State, s.Why = Damaged, err.Error()
		return s
	}
	s.Created, s.Command = m.Created, m.Command
	s.Verdict, s.Limiter, s.ShareOfCeiling = r.Verdict.Line, r.Verdict.Limiter, r.Verdict.ShareOfCeiling
	s.Ladder, s.hosts, s.ceiling = r.Ladder, r.Hosts, r.Verdict.Ceiling
	if r.Proof != nil {
		s.Ratio = r.Proof.Ratio
	}
	return s
}

// glance reads the results and checks only the size of the other files.
func glance(dir string) (*Manifest, *model.Results, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil, nil, err
	}
	var r *model.Results
	for _, f := range m.Files {
		info, err := root.Lstat(f.Name)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		if !info.Mode().IsRegular() || info.Size() != f.Size {
			return nil, nil, fmt.Errorf("%w: %s is not the %d bytes the manifest says", ErrDamaged, f.Name, f.Size)
		}
		if f.Name != resultsName {
			continue
		}
		raw, err := readVerified(root, f)
		if err != nil {
			return nil, nil, err
		}
		if r, err = decode[model.Results](resultsName, raw, model.OutcomeVersion); err != nil {
			return nil, nil, err
		}
	}
	return m, r, nil
}

// idTime is the time at the start of an id; zero if it has none.
func idTime(id string) time.Time {
	const layout = "20060102-150405"
	t, err := time.Parse(layout, id[:min(len(id), len(layout))])
	if err != nil {
		return time.Time{} // a folder somebody renamed: it sorts last
	}
	return t
}

// Resolve finds the folder of the bundle that the user named for RUN: an id, a unique prefix of
// an id, "last" (the newest complete one), or a path. The error wraps ErrNotFound.
func Resolve(root, ref string) (string, error) {
	list, err := List(root)
	if err != nil {
		return "", err
	}
	if ref == "last" {
		return newest(list)
	}
	var hits []Summary
	for _, s := range list {
		if s.ID == ref {
			return s.Path, nil
		}
		if ref != "" && strings.HasPrefix(s.ID, ref) {
			hits = append(hits, s)
		}
	}
	if len(hits) == 1 {
		return hits[0].Path, nil
	}
	if len(hits) > 1 {
		return "", ambiguous(ref, hits)
	}
	if info, err := os.Stat(ref); err == nil && info.IsDir() {
		return filepath.Clean(ref), nil
	}
	ids := make([]string, len(list))
	for i, s := range list {
		ids[i] = s.ID
	}
	err = fmt.Errorf("find run %q: %w: neither an id, the beginning of one, \"last\" nor a folder", ref, ErrNotFound)
	return "", likely(err, ref, ids, failure.ListRuns)
}

// likely adds to an error about a name that nothing has up to three ids that hold what was
// typed, or differ from it in a third of its letters at most, the most alike first; where none
// does, how to see them.
func likely(err error, typed string, ids []string, see failure.Next) error {
	const shortest = 3 // what is shorter is in too many
	like := map[string]int{}
	for _, id := range ids {
		switch away := conf.Away(typed, id); {
		case len(typed) < shortest:
		case strings.Contains(id, typed):
			like[id] = 0
		case away <= len(typed)/3:
			like[id] = away
		}
	}
	if len(like) == 0 {
		return failure.Advise(err, see)
	}
	return fmt.Errorf("%w; did you mean %s?", err, strings.Join(conf.Nearest(like, 3), " or "))
}

func newest(list []Summary) (string, error) {
	for _, s := range list {
		if s.State == Complete {
			return s.Path, nil
		}
	}
	return "", failure.Advise(fmt.Errorf("find run \"last\": %w: there is no complete run yet", ErrNotFound), failure.MakeRun)
}

func ambiguous(ref string, hits []Summary) error {
	var ids []string
	for _, h := range hits[:min(len(hits), 4)] {
		ids = append(ids, h.ID)
	}
	return fmt.Errorf("find run %q: %w: %d ids start so (%s …): write more of it", ref, ErrNotFound, len(hits), strings.Join(ids, ", "))
}
