package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/app"
	"linerate/internal/failure"
)

// Written is the script of a plan.
type Written struct {
	Proposal
	Script string `json:"script"`
	// Saved are the files that were written: the script, and the one beside it that only undoes.
	Saved []string `json:"saved,omitempty"`
}

// PowerShell: that runs the script, and not sh.
func (w Written) PowerShell() bool { return w.Script != "" && !strings.HasPrefix(w.Script, "#!") }

// WriteScript makes the plan for a host on which linerate does not run, and the script that
// carries it out; out is the file to write it to, with an undo beside it, or empty. It changes
// nothing on the host.
func WriteScript(ctx context.Context, e app.Env, o Request, out string, p app.Progress) (Written, error) {
	d, err := draft(ctx, e, o, p)
	if err != nil {
		return Written{}, err
	}
	defer d.close()
	if d.foreign == nil {
		return Written{}, failure.Advise(failure.Of(failure.Usage, "%s runs linerate's own agent, which needs no script; undo.sh lies beside its journal", d.name), failure.PlanInstead)
	}
	doc, err := d.propose(ctx)
	if err != nil || len(doc.Plan) == 0 {
		return Written{Proposal: doc}, err
	}
	s, err := d.steps()
	if err != nil {
		return Written{}, err
	}
	w := Written{Proposal: doc}
	if w.Script, err = s.Text(); err != nil || out == "" {
		return w, err
	}
	undo, err := s.UndoText()
	if err != nil {
		return w, err
	}
	w.Saved, err = save(out, w.Script, undo, w.PowerShell())
	return w, err
}

// save writes the script and its undo into new files that their owner alone may read: both, or none.
func save(out, text, undo string, powershell bool) ([]string, error) {
	ext := ".sh"
	if powershell {
		ext = ".ps1"
	}
	beside := filepath.Join(filepath.Dir(out), "undo"+ext)
	switch {
	case strings.EqualFold(filepath.Base(out), filepath.Base(beside)):
		return nil, failure.Of(failure.Usage, "write the script: %s is the name of its undo: choose another", out)
	case powershell != strings.EqualFold(filepath.Ext(out), ".ps1"):
		return nil, failure.Of(failure.Usage, "write the script: %s: a script of this host is named something%s", out, ext)
	}
	if err := saveNew(beside, undo); err != nil {
		return nil, err
	}
	if err := saveNew(out, text); err != nil {
		return nil, errors.Join(err, os.Remove(beside))
	}
	return []string{out, beside}, nil
}

// saveNew writes a file whole, or none; one that is there stays.
func saveNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return failure.Of(failure.Usage, "write the script: %s is there already: choose another folder, or remove it if nothing of its plan is in force", file)
	}
	if err != nil {
		return fmt.Errorf("write the script: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the script: %w", errors.Join(err, os.Remove(file)))
	}
	return nil
}
