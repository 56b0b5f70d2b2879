package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/unit"
)

const lockName = "lock"

// lockRetries bounds the tries to lock a directory that Leave removes at the
// same time.
const lockRetries = 3

// Holder is who holds the lock of a state directory, or held it last.
type Holder struct {
	PID   int       `json:"pid"`
	By    string    `json:"by"`
	Since time.Time `json:"since"`
	// Open is how many changes were in force at Counted: where the journal and undo.sh are gone,
	// it is all that tells of them. Kept of them outlive a restart, which the others of BootID do not;
	// that is empty where an earlier build counted.
	Open    int       `json:"open,omitempty"`
	Kept    int       `json:"kept,omitempty"`
	BootID  string    `json:"boot_id,omitempty"`
	Counted time.Time `json:"counted,omitzero"`
}

// inForce is how many of the changes that it counted are in force on a host that runs since bootID.
func (h Holder) inForce(bootID string) int {
	if h.BootID != "" && h.BootID != bootID {
		return h.Kept
	}
	return h.Open
}

// takeLock locks the file and writes into it who holds it. It fails with a
// *BusyError, which is ErrBusy, when somebody else does.
func takeLock(d *state, by string, now time.Time) (*os.File, error) {
	for range lockRetries {
		f, err := d.openLock()
		if errors.Is(err, kernel.ErrLocked) {
			return nil, &BusyError{Holder: readHolder(d)}
		}
		if err != nil {
			return nil, err
		}
		if !d.stillThere(f) { // Leave removed it in between
			if err := f.Close(); err != nil {
				return nil, err
			}
			continue
		}
		h := readHolder(d)
		h.PID, h.By, h.Since = os.Getpid(), by, now
		writeHolder(f, h)
		return f, nil
	}
	return nil, errors.New("the lock is removed again and again")
}

func (d *state) stillThere(f *os.File) bool {
	held, err1 := f.Stat()
	named, err2 := d.root.Lstat(lockName)
	return err1 == nil && err2 == nil && os.SameFile(held, named)
}

// writeHolder is a help only: the lock itself is the kernel's. A disk that is full, read-only
// or failing must not keep a change from being undone, so that nothing is made of an error.
// It writes over what is there, since a full disk would not give a freed block back.
func writeHolder(f *os.File, h Holder) {
	b, err := json.Marshal(h)
	if err != nil {
		return
	}
	if n, err := f.WriteAt(append(b, '\n'), 0); err == nil {
		_ = f.Truncate(int64(n))
	}
}

// count writes into the lock how many changes are in force. Since when it is held stays.
func (s *session) count() {
	h := Holder{PID: os.Getpid(), By: s.By, Since: readHolder(s.dir).Since, BootID: s.BootID, Counted: s.now()}
	for _, e := range s.journal.entries {
		if !e.Open(s.BootID) {
			continue
		}
		h.Open++
		if e.Persisted {
			h.Kept++
		}
	}
	writeHolder(s.lock, h)
}

// goneError is what the lock tells where there is no entry and no undo.sh; nil: nothing of changes.
func goneError(d *state, bootID string) error {
	h := readHolder(d)
	n := h.inForce(bootID)
	if n == 0 {
		return nil
	}
	return fmt.Errorf("read %s: %w: its changes are gone and so is %s, and %s in force at %s. Nothing was changed. Put both back, from where they were moved or from a backup; if they are lost, set the values by hand and remove %s",
		d.full(journalName), ErrDamaged, scriptName, unit.Count(n, "change")+map[bool]string{true: " was", false: " were"}[n == 1], h.Counted.UTC().Format(time.RFC3339), d.full(lockName))
}

// maxHolder bounds what is read of a lock.
const maxHolder = 4 << 10

// readHolder returns the zero Holder where the lock names none: its holder is
// about to write it, or its disk is full.
func readHolder(d *state) Holder {
	b, err := d.read(lockName, maxHolder)
	var h Holder
	if err != nil || json.Unmarshal(b, &h) != nil {
		return Holder{}
	}
	return h
}
