package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"linerate/internal/tune/setter"
)

// Tuner changes and restores settings of the host it runs on.
type Tuner struct {
	Dir     string // state directory, made with mode 0700; refused when others can get in
	BootID  string // of the running kernel
	By      string // who changes, for the journal, e.g. "linerate demo"
	Setters []setter.Setter

	// fault stands for what can go wrong: tests make it fail, or kill the
	// process, before any step that touches the disk or the kernel.
	fault func(step string) error
}

// Result is what Apply or Undo did.
type Result struct {
	Plan string
	// Entries are the changes it handled as the journal has them now, in the
	// order they were handled.
	Entries []Entry
}

// Open returns the changes that were made since the host started and are not
// undone yet, oldest first. It takes no lock: while another process works it
// sees what is on disk.
func (t *Tuner) Open() ([]Entry, error) {
	all, err := readJournal(t.Dir)
	if err != nil {
		return nil, err
	}
	var open []Entry
	for _, e := range all {
		if e.open() && e.BootID == t.BootID {
			open = append(open, e)
		}
	}
	return open, nil
}

// session is a Tuner that holds the lock and the journal.
type session struct {
	*Tuner
	lock    *os.File
	journal *journal
}

func (t *Tuner) begin() (*session, error) {
	if t.BootID == "" {
		return nil, errors.New("change settings: the boot id of this host is not known, so a reboot could not be told")
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state directory: %w", err)
	}
	info, err := os.Stat(t.Dir)
	if err != nil {
		return nil, fmt.Errorf("look at state directory: %w", err)
	}
	if !private(info) {
		return nil, fmt.Errorf("use state directory %s: others may enter it (mode %v): chmod 700 it, or name another", t.Dir, info.Mode().Perm())
	}
	lock, err := lockFile(filepath.Join(t.Dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("lock state directory %s: %w", t.Dir, err)
	}
	j, err := openJournal(t.Dir)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &session{Tuner: t, lock: lock, journal: j}, nil
}

func (s *session) end() error { return errors.Join(s.journal.file.Close(), s.lock.Close()) }

// put records an entry.
func (s *session) put(e Entry) error {
	if err := s.step("journal " + string(e.State)); err != nil {
		return err
	}
	return s.journal.put(e)
}

func (s *session) read(ctx context.Context, set setter.Setter, at setter.Place, like string) (string, error) {
	if err := s.step("read"); err != nil {
		return "", err
	}
	return set.Read(ctx, at, like)
}

func (s *session) write(ctx context.Context, set setter.Setter, at setter.Place, value string) error {
	if err := s.step("write"); err != nil {
		return err
	}
	return set.Write(ctx, at, value)
}

func (t *Tuner) step(name string) error {
	if t.fault == nil {
		return nil
	}
	return t.fault(name)
}

// setter returns the mechanism of a setting.
func (t *Tuner) setter(setting string) (setter.Setter, error) {
	for _, s := range t.Setters {
		if s.Owns(setting) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("setting %s: this linerate has no mechanism for it on this host", setting)
}

func place(e Entry) setter.Place { return setter.Place{Setting: e.Setting, Target: e.Target} }
