package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"linerate/internal/failure"
	"linerate/internal/load/block"
)

// journalFile is where a run's journal goes. A nil one is none.
type journalFile struct {
	file    *os.File
	journal *block.Journal
}

// keepJournal makes the journal of a run, and its file before the run begins: a
// run whose journal has no place would be for nothing.
func keepJournal(path string, s *block.Spec) (*journalFile, error) {
	if path == "" {
		return nil, nil
	}
	var err error
	if s.Journal, err = block.NewJournal(*s); err != nil {
		return nil, failure.As(failure.Usage, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, failure.Of(failure.Usage, "keep journal: %s is there already: choose another name", path)
	}
	if err != nil {
		return nil, fmt.Errorf("keep journal: %w", err)
	}
	return &journalFile{f, s.Journal}, nil
}

// end writes the journal, after a sync: only what had to be durable can be
// demanded back. A target that does not answer is not waited for again.
func (k *journalFile) end(ended time.Time, t *block.Target, ran error, stuckAfter time.Duration) error {
	if k == nil {
		return nil
	}
	var stuck *block.StuckError
	var unsynced error
	if !errors.As(ran, &stuck) {
		// If it fails, the journal says that none succeeded. It may have to write back
		// all that memory held.
		err := t.Sync(context.Background(), stuckAfter)
		k.journal.Synced = err == nil
		if errors.As(err, &stuck) {
			unsynced = err
		}
	}
	k.journal.Ended = ended.UTC()
	_, err := k.journal.WriteTo(k.file)
	if err = errors.Join(err, k.file.Sync(), k.file.Close()); err != nil {
		return fmt.Errorf("keep journal: %w", err)
	}
	return unsynced
}
