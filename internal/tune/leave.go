package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// LeaveResult is what Leave removed.
type LeaveResult struct {
	Dir     string   `json:"dir"`
	Removed []string `json:"removed"` // names in Dir; the directory itself goes too
	// Kept are names in Dir that are none of linerate's: they stay, and the
	// directory with them.
	Kept []string `json:"kept,omitempty"`
}

// ours are the names that linerate makes in a state directory.
func ours() []string {
	var out []string
	for _, name := range []string{journalName, scriptName, waitingName, keptName} {
		out = append(out, name, name+".new")
	}
	return append(out, journalName+damagedSuffix, scriptName+usedSuffix, filesName, lockName)
}

// Leave removes the journal and all else that linerate keeps on the host. A
// host that has nothing of it is left as it is.
//
// Errors: ErrOpen while a change is in force or a plan waits to be confirmed,
// ErrBusy.
func (t *Tuner) Leave(context.Context) (res LeaveResult, err error) {
	res.Dir = t.Dir
	if _, err := os.Stat(t.Dir); errors.Is(err, fs.ErrNotExist) {
		return res, nil
	}
	s, err := t.begin()
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	for _, e := range s.journal.entries {
		if e.Open(s.BootID) {
			return res, fmt.Errorf("leave: %w, %s of plan %s among them: undo them first, or confirm and persist and keep linerate here", ErrOpen, place(e), e.Plan)
		}
	}
	s.count() // the lock goes last: whoever is killed before that leaves one that tells of nothing in force
	return s.clear(res)
}

// clear removes the lock last: until then nobody else begins here.
func (s *session) clear(res LeaveResult) (LeaveResult, error) {
	for _, name := range ours() {
		if _, err := s.dir.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.step("remove " + name); err != nil {
			return res, fmt.Errorf("leave: %w", err)
		}
		if err := s.dir.root.RemoveAll(name); err != nil {
			return res, fmt.Errorf("leave: %w", err)
		}
		res.Removed = append(res.Removed, name)
	}
	left, err := fs.ReadDir(s.dir.root.FS(), ".")
	if err != nil {
		return res, fmt.Errorf("leave: %w", err)
	}
	for _, e := range left {
		res.Kept = append(res.Kept, e.Name())
	}
	if len(left) > 0 {
		return res, nil
	}
	if err := os.Remove(s.Dir); err != nil {
		return res, fmt.Errorf("leave: %w", err)
	}
	return res, nil
}
