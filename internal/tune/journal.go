package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// EntryVersion is the version of Entry that this build writes. Version 1 had
// neither times nor files: a linerate that knows only that one must not close
// the entry of a file because the host was restarted, so it refuses this one.
const EntryVersion = 2

const journalName = "journal.jsonl"

// State is how far a change has come.
type State string

// A change is intended before the kernel is asked, applied once read back,
// and ends as undone, or as closed when a reboot undid it or its device is gone. In conflict it
// stays open: somebody else changed the value since.
const (
	Intended State = "intended"
	Applied  State = "applied"
	Conflict State = "conflict"
	Undone   State = "undone"
	Closed   State = "closed"
)

// Entry is one change as the journal has it: one JSON object per line. A
// change keeps its Seq; its last line counts.
type Entry struct {
	V       int    `json:"v"`
	Seq     int    `json:"seq"`
	Plan    string `json:"plan"`
	BootID  string `json:"boot_id"`
	By      string `json:"by"`
	Target  string `json:"target"` // NIC.Device, empty for a setting of the host
	Setting string `json:"setting"`
	Before  string `json:"before"`
	Wanted  string `json:"wanted"`
	After   string `json:"after"` // what the kernel accepted; empty while only intended
	State   State  `json:"state"`
	// Origin is what it was before the plan, where the plan's own earlier
	// changes moved it to Before: to have it there is to have it restored.
	Origin string `json:"origin,omitempty"`
	// Persisted: the change outlives a restart, as that of a file does, and
	// that of a ZFS property, which its pool keeps.
	Persisted bool `json:"persisted,omitempty"`
	// Index is the kernel's number of the interface that Target or Setting
	// names by nothing but its name, during that boot; 0: they name none.
	Index int `json:"ifindex,omitempty"`
	// Hardware is that interface's Interface.Hardware; empty in entries of an earlier build.
	Hardware string `json:"ifhw,omitempty"`
	// Found is what an undo found in the place of After, where somebody else had changed
	// it: what was there before Before was written, or an original, and nothing was.
	Found string `json:"found,omitempty"`
	// Unwritten: an original was there, Before or that from before an earlier plan which was undone
	// with this one, so that the undo wrote nothing. Absent in entries of an earlier build.
	Unwritten bool `json:"unwritten,omitempty"`

	At    time.Time `json:"at,omitzero"`    // when it was intended
	Ended time.Time `json:"ended,omitzero"` // when it was undone or closed
}

// Open tells whether the change still has to be undone on a host that runs
// since bootID: a runtime value of an earlier boot was undone by the restart.
func (e Entry) Open(bootID string) bool { return e.open() && (e.Persisted || e.BootID == bootID) }

// open tells whether the change still has to be undone.
func (e Entry) open() bool {
	return e.State == Intended || e.State == Applied || e.State == Conflict
}

// ours is the value that our write left, as far as it is known.
func (e Entry) ours() string {
	if e.After != "" {
		return e.After
	}
	return e.Wanted
}

// maxJournal bounds what is read: far more than a host's lifetime of studies.
const maxJournal = 64 << 20

// journal is the open file and the last line of every change.
type journal struct {
	file     *os.File
	dir      *state
	size     int64 // up to here the file is whole lines
	entries  []Entry
	readOnly error // why the file could be opened for reading only
	// unwritten is why the end of a change that was restored is not in the file; nil: it is.
	unwritten error
}

// openJournal opens or creates the journal in dir. A last line without its end
// is what a crash in the middle of an append leaves: nothing followed it, so it
// is dropped. Any other damage is an error.
func openJournal(dir *state, bootID string) (*journal, error) {
	f, err := dir.open(journalName, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if err := matchScript(dir, nil); err != nil {
			return nil, damaged(dir.path, err)
		}
		if err := goneError(dir, bootID); err != nil {
			return nil, err
		}
		f, err = dir.open(journalName, os.O_RDWR|os.O_CREATE, 0o600)
	}
	readOnly := err
	if unwritable(err) { // what was changed can be restored nevertheless
		f, err = dir.open(journalName, os.O_RDONLY, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &journal{file: f, dir: dir, readOnly: readOnly}
	b, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err == nil {
		j.entries, j.size, err = parseJournal(b)
	}
	if err == nil {
		err = matchScript(dir, j.entries)
	}
	if err != nil {
		return nil, errors.Join(damaged(dir.path, err), f.Close())
	}
	if len(j.entries) == 0 {
		if err := goneError(dir, bootID); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return j, nil
}

// readTries bounds the readings of a journal that seems to be damaged. Who holds no lock may find one
// of its files from before a first change, or before a leave, and the next from after it: in a life of
// the state directory each happens once.
const readTries = 3

// readJournal is openJournal without creating or holding anything.
func readJournal(dir, bootID string) (entries []Entry, err error) {
	for range readTries {
		if entries, err = readJournalOnce(dir, bootID); !errors.Is(err, ErrDamaged) {
			break
		}
	}
	return entries, err
}

func readJournalOnce(dir, bootID string) ([]Entry, error) {
	d, err := openState(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was ever changed
	}
	if err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	defer d.close() // only read: a close that fails loses nothing
	script, err := readScriptOf(d)
	if err != nil {
		return nil, err
	}
	w, _, _ := readWaiting(dir) // what is wrong with it is told by who needs it
	b, err := d.read(journalName, maxJournal)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	entries, _, err := parseJournal(b)
	if err == nil {
		err = matches(script, entries)
	}
	if err == nil {
		err = matchWaiting(w, entries)
	}
	if err != nil {
		return nil, damaged(dir, err)
	}
	if len(entries) == 0 {
		return nil, goneError(d, bootID)
	}
	return entries, nil
}

// damaged says what is wrong with the journal in dir, and the way out. A script that is not safe
// to use is no way out: root is not to be told to run what somebody else put there.
func damaged(dir string, err error) error {
	if errors.Is(err, ErrState) {
		return fmt.Errorf("read %s: %w. Nothing was changed", filepath.Join(dir, journalName), err)
	}
	return fmt.Errorf("read %s: %w: %w. Nothing was changed. Where it was moved away, put it back; else linerate tune undo --from-script, or sh %s, restores what was open",
		filepath.Join(dir, journalName), ErrDamaged, err, filepath.Join(dir, scriptName))
}

// parseJournal returns the last line of every change in order of Seq, and the
// length of the part that is whole lines.
func parseJournal(b []byte) ([]Entry, int64, error) {
	if len(b) > maxJournal {
		return nil, 0, fmt.Errorf("larger than %d bytes", maxJournal)
	}
	whole := b[:bytes.LastIndexByte(b, '\n')+1]
	var entries []Entry
	for n, line := range bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n")) {
		if len(whole) == 0 {
			break
		}
		e, err := parseEntry(line)
		if err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n+1, err)
		}
		switch {
		case e.Seq == len(entries)+1:
			entries = append(entries, e)
		case e.Seq >= 1 && e.Seq <= len(entries) && sameChange(entries[e.Seq-1], e):
			e.Hardware = entries[e.Seq-1].Hardware
			entries[e.Seq-1] = e
		default:
			return nil, 0, fmt.Errorf("line %d: change %d does not follow from the lines before", n+1, e.Seq)
		}
	}
	return entries, int64(len(whole)), nil
}

func parseEntry(line []byte) (Entry, error) {
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return Entry{}, fmt.Errorf("not a journal entry: %w", err)
	}
	if e.V < 1 || e.V > EntryVersion {
		return Entry{}, fmt.Errorf("version %d, this linerate knows 1 to %d: use the one that wrote it", e.V, EntryVersion)
	}
	if !e.open() && e.State != Undone && e.State != Closed {
		return Entry{}, fmt.Errorf("unknown state %q", e.State)
	}
	return e, nil
}

// sameChange tells whether b continues a: only After, State, Found, Unwritten and Ended may differ.
func sameChange(a, b Entry) bool {
	if !a.At.Equal(b.At) {
		return false
	}
	a.After, a.State, a.At, a.Ended, a.Found, a.Unwritten = b.After, b.State, b.At, b.Ended, b.Found, b.Unwritten
	if b.Hardware == "" { // a line that a build wrote which does not know it
		a.Hardware = ""
	}
	return a == b
}

// put appends one line and syncs it. It writes at the end of the whole lines,
// so a line that failed half way is overwritten by the next. That a change was restored is so
// also where the disk refuses to have it written down: the next undo finds the value as it was.
func (j *journal) put(e Entry) error {
	err := j.append(e)
	if unwritable(err) && !e.open() {
		j.unwritten, err = err, nil
	}
	if err != nil {
		return err
	}
	if e.Seq == len(j.entries)+1 {
		j.entries = append(j.entries, e)
	} else {
		j.entries[e.Seq-1] = e
	}
	return nil
}

func (j *journal) append(e Entry) error {
	if j.readOnly != nil {
		return fmt.Errorf("write journal: %w", j.readOnly)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode journal entry: %w", err)
	}
	line = append(line, '\n')
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if _, err := j.file.WriteAt(line, j.size); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("sync journal: %w", err)
	}
	if err := j.dir.sync(); err != nil {
		return fmt.Errorf("sync journal directory: %w", err)
	}
	j.size += int64(len(line))
	return nil
}
