package tune

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"linerate/internal/kernel"
)

// ErrDamaged: the journal cannot be read as one, or is not the one that undo.sh was made
// from.
var ErrDamaged = errors.New("the journal is damaged")

// Suffixes of what UndoFromScript leaves: both files stay until Leave, for the
// script may be the last copy of the originals.
const (
	damagedSuffix = ".damaged"
	usedSuffix    = ".used"
)

// markPrefix begins the line of undo.sh that says what the journal held when
// the script was made. Scripts of earlier versions have no such line.
const markPrefix = "# journal "

// mark is that line: how many changes the journal had, and which were open.
type mark struct {
	Changes int        `json:"changes"`
	Open    []markOpen `json:"open"`
}

type markOpen struct {
	Seq  int    `json:"seq"`
	Plan string `json:"plan"`
}

// markLine is the mark of a journal for a script of these open entries. JSON
// has no line breaks, so that no name of a plan can end the comment.
func markLine(changes int, open []Entry) (string, error) {
	m := mark{Changes: changes}
	for _, e := range open {
		m.Open = append(m.Open, markOpen{e.Seq, e.Plan})
	}
	b, err := json.Marshal(m)
	return markPrefix + string(b) + "\n", err
}

// parseMark finds the mark of a script; false where it has none.
func parseMark(script []byte) (mark, bool) {
	for line := range strings.Lines(string(script)) {
		text, ok := strings.CutPrefix(line, markPrefix)
		if !ok {
			continue
		}
		var m mark
		return m, json.Unmarshal([]byte(text), &m) == nil
	}
	return mark{}, false
}

// matchScript compares the journal's entries with undo.sh. A script that knows
// of changes that the journal has not is what a journal leaves that was moved
// away, emptied or cut: then the script is the last copy of the originals, and
// whatever would make it anew would delete it.
func matchScript(dir *state, entries []Entry) error {
	script, err := readScriptOf(dir)
	if err != nil {
		return err
	}
	return matches(script, entries)
}

// readScriptOf is the text of undo.sh; nil where there is none. Who holds no lock reads it
// before the journal: then a change that another process makes meanwhile is in the journal only.
func readScriptOf(dir *state) ([]byte, error) {
	b, err := dir.read(scriptName, maxScript)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("compare the journal with %s: %w", scriptName, err)
	}
	return b, nil
}

func matches(b []byte, entries []Entry) error {
	if b == nil {
		return nil
	}
	m, ok := parseMark(b)
	switch {
	case !ok && len(entries) == 0:
		return fmt.Errorf("it has no change, and %s restores some", scriptName)
	case !ok:
		return nil
	case m.Changes > len(entries):
		return fmt.Errorf("it has %d changes, and %s was made when it had %d", len(entries), scriptName, m.Changes)
	}
	for _, o := range m.Open {
		if o.Seq < 1 || o.Seq > len(entries) || entries[o.Seq-1].Plan != o.Plan {
			return fmt.Errorf("%s restores change %d of plan %s, which it does not have", scriptName, o.Seq, o.Plan)
		}
	}
	return nil
}

// lastWay is what is left where neither the journal nor undo.sh tells the originals.
const lastWay = "put the files back as they were, or set the values by hand and then move away what is left of them, and the file " + lockName + " beside them, which tells that changes are in force"

// undoFromScript restores by undo.sh what a journal that is damaged cannot.
// Where the script ends well, the journal and the script are set aside under
// other names and a new journal begins; else all stays as it is.
func (t *Tuner) undoFromScript(ctx context.Context, r UndoRequest) (res Result, err error) {
	if r.Plan != "" || r.To != 0 {
		return res, errors.New("undo from the script: it restores everything that is open, and no part of it")
	}
	d, lock, err := t.enter()
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, kernel.UnlockFile(lock), d.close()) }()
	script := d.full(scriptName)
	text, err := d.read(scriptName, maxScript)
	if errors.Is(err, fs.ErrNotExist) {
		return res, fmt.Errorf("undo from the script: %s is gone, too: %s", script, lastWay)
	}
	if err == nil {
		err = wholeScript(text)
	}
	if errors.Is(err, ErrScript) {
		err = fmt.Errorf("%s: %w: nothing was run. See what is in it: sh %s runs it as it is; or %s", script, err, script, lastWay)
	}
	if err != nil {
		return res, fmt.Errorf("undo from the script: %w", err)
	}
	if t.RunScript == nil {
		return res, fmt.Errorf("undo from the script: this linerate cannot run it; run it by hand: sh %s", script)
	}
	argv := []string{"sh", script}
	if r.Force {
		argv = append(argv, "--force")
	}
	out, err := t.RunScript(ctx, argv...)
	for line := range strings.Lines(string(out)) {
		res.Notes = append(res.Notes, scriptName+": "+strings.TrimSpace(line))
	}
	if err != nil {
		return res, fmt.Errorf("undo from the script: %w: journal and script stay as they are", err)
	}
	return res, t.setAside(ctx, d, lock, &res)
}

// setAside keeps the damaged journal and the used script under other names, and
// disarms the dead-man, for which nothing is left.
func (t *Tuner) setAside(ctx context.Context, d *state, lock *os.File, res *Result) error {
	// The script last: while it is there, what is left of the journal counts as damage.
	for _, names := range [][2]string{{journalName, journalName + damagedSuffix}, {scriptName, scriptName + usedSuffix}} {
		from, to := names[0], names[1]
		err := d.root.Rename(from, to)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the journal that was moved away
		}
		if err != nil {
			return fmt.Errorf("set %s aside: %w", from, err)
		}
		res.Notes = append(res.Notes, fmt.Sprintf("%s is kept as %s", from, d.full(to)))
	}
	if err := d.sync(); err != nil {
		return fmt.Errorf("set the journal aside: %w", err)
	}
	writeHolder(lock, Holder{PID: os.Getpid(), By: t.By, Since: t.now()}) // nothing is in force
	j, err := openJournal(d, t.BootID)
	if err != nil {
		return err
	}
	s := &session{Tuner: t, dir: d, journal: j}
	return errors.Join(s.disarmUndone(ctx), j.file.Close())
}

// matchWaiting compares the journal's entries with the plan that waits to be confirmed: all of
// its changes were made before its second turn began, so that a journal without any of them is
// not the one that they were written to. The zero Waiting is that none waits.
func matchWaiting(w Waiting, entries []Entry) error {
	if w.Plan == "" || !w.Fired.IsZero() || w.Turn < 2 {
		return nil
	}
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Plan == w.Plan }) {
		return nil
	}
	return fmt.Errorf("it has no change of plan %s, which waits to be confirmed", w.Plan)
}
