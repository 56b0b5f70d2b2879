package tune

import (
	"encoding/json"
	"errors"
	"os"
	"time"

	"linerate/internal/kernel"
)

const lockName = "lock"

// lockRetries bounds the tries to lock a directory that Leave removes at the
// same time.
const lockRetries = 3

// Holder is who holds the lock of a state directory.
type Holder struct {
	PID   int       `json:"pid"`
	By    string    `json:"by"`
	Since time.Time `json:"since"`
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
		writeHolder(f, Holder{PID: os.Getpid(), By: by, Since: now})
		return f, nil
	}
	return nil, errors.New("the lock is removed again and again")
}

func (d *state) stillThere(f *os.File) bool {
	held, err1 := f.Stat()
	named, err2 := d.root.Lstat(lockName)
	return err1 == nil && err2 == nil && os.SameFile(held, named)
}

// writeHolder is for people only: the lock itself is the kernel's. A disk that is full, read-only
// or failing must not keep a change from being undone, so that nothing is made of an error.
func writeHolder(f *os.File, h Holder) {
	b, err := json.Marshal(h)
	if err == nil && f.Truncate(0) == nil {
		_, _ = f.WriteAt(append(b, '\n'), 0)
	}
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
