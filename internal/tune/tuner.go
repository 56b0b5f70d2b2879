package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"linerate/internal/guide"
	"linerate/internal/kernel"
	"linerate/internal/tune/persist"
	"linerate/internal/tune/setter"
)

// Tuner changes and restores settings of the host it runs on.
type Tuner struct {
	Dir     string // state directory, made with mode 0700; refused when others can get in
	BootID  string // of the running kernel
	By      string // who changes, for the journal, e.g. "linerate demo"
	Setters []setter.Setter
	Now     func() time.Time // the host's wall clock; nil is time.Now
	// Program is the file of this linerate, which undo.sh starts a copy of where
	// the host lacks a program that the script would call; empty: none can be
	// kept, and what such a script could not put back is refused. Path is where
	// those programs are looked for; empty is the usual places.
	Program string
	Path    string
	// RunScript starts a program with its arguments and returns what it printed;
	// nil: undo.sh cannot be run from here.
	RunScript func(ctx context.Context, argv ...string) ([]byte, error)
	// Uptime is how long the host runs, suspended time included; nil, or 0: not known. It tells
	// when a plan is overdue whatever the wall clock was set to.
	Uptime func() time.Duration
	// DeadMan watches over plans that want to be confirmed; without one such
	// plans are refused.
	DeadMan DeadMan
	// Grace is how long after a deadline a process that applies the plan may
	// still hold the lock before the dead-man ends it; 0 is 30 s.
	Grace time.Duration
	// Root is where the files of Persist are; empty is "/". Persisting tells
	// who sets up this host's interfaces; without it, sysctls, modules and
	// mounts can be made permanent.
	Root       kernel.Root
	Persisting func(ctx context.Context) (persist.Host, error)

	// Interfaces lists this host's interfaces by the kernel's number, so that
	// one that was renamed is found and another of its name is not written to;
	// nil: nobody renames any.
	Interfaces func(ctx context.Context) (map[int]Interface, error)

	// Fault stands for what can go wrong: tests and benches make it fail, or
	// end the process, before any step that touches the disk or the kernel,
	// and ("after …") when the step is done.
	Fault func(step string) error
}

// Interface is one of a host's network interfaces.
type Interface struct {
	Name string
	// Hardware tells it from one that gets its number later: "mac:" with its permanent address,
	// else "pci:" with its device's, else "link:" with its present address, which may be set, and,
	// where it is known, "#" and its kernel.InterfaceNode, which stays.
	Hardware string
}

// InterfaceOf is a link as a Tuner knows it. The node is its kernel.InterfaceNode, or 0.
func InterfaceOf(l kernel.Link, node uint64) Interface {
	i := Interface{Name: l.Name, Hardware: presentMAC + l.MAC}
	if node != 0 {
		i.Hardware += nodeMark + strconv.FormatUint(node, 10)
	}
	if pci := kernel.PCIAddress(l, kernel.Port{}); pci != "" {
		i.Hardware = "pci:" + pci
	}
	if l.PermMAC != "" {
		i.Hardware = "mac:" + l.PermMAC
	}
	return i
}

// Result is what Apply or Undo did.
type Result struct {
	Plan string
	// Entries are the changes it handled as the journal has them now, in the
	// order they were handled.
	Entries []Entry
	// Changes is what became of each change of the plan, in the plan's order;
	// of Apply only.
	Changes []Outcome
	// Deadline is until when Confirm must come, by the host's clock; zero
	// when nobody waits for it.
	Deadline time.Time
	// Notes are what the user has to know of the outcome, a sentence each.
	Notes []string
}

// Outcome is what became of one change.
type Outcome struct {
	Setting string `json:"setting"`
	Target  string `json:"target,omitempty"`
	// Applied: the value was read back as it was wanted.
	Applied bool `json:"applied"`
	// Effective is "yes", "no", "later: WHY" or "unknown: WHY".
	Effective string `json:"effective"`
	// Observed is what was seen on the wire; filled in by who puts load on it.
	Observed string `json:"observed"`
}

// History returns every change that the journal has, oldest first, those that
// are undone or closed too. It takes no lock.
func (t *Tuner) History() ([]Entry, error) { return readJournal(t.Dir, t.BootID) }

// Open returns the changes that are in force and not undone yet, oldest first:
// those made since the host started and those that outlive a restart. It takes no lock: while another process works it
// sees what is on disk.
func (t *Tuner) Open() ([]Entry, error) {
	all, err := readJournal(t.Dir, t.BootID)
	if err != nil {
		return nil, err
	}
	var open []Entry
	for _, e := range all {
		if e.Open(t.BootID) {
			open = append(open, e)
		}
	}
	return open, nil
}

// session is a Tuner that holds the lock and the journal.
type session struct {
	*Tuner
	dir     *state
	lock    *os.File
	journal *journal
	force   bool // restore what somebody else changed since
	// presume that an unknown value is ours where the process that wrote it
	// did not live to read it back: a kernel that clamps makes it so.
	presume bool
	notes   []string
}

func (t *Tuner) begin() (*session, error) {
	d, lock, err := t.enter()
	if err != nil {
		return nil, err
	}
	j, err := openJournal(d, t.BootID)
	if err == nil {
		// What is wrong with the record is told by who needs it.
		w, _, _ := readWaiting(t.Dir)
		if err = matchWaiting(w, j.entries); err != nil {
			err = errors.Join(damaged(d.path, err), j.file.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(err, kernel.UnlockFile(lock), d.close())
	}
	return &session{Tuner: t, dir: d, lock: lock, journal: j}, nil
}

// enter makes the state directory where there is none, and takes its lock.
func (t *Tuner) enter() (*state, *os.File, error) {
	if t.BootID == "" {
		return nil, nil, errors.New("change settings: the boot id of this host is not known, so a reboot could not be told")
	}
	if err := os.MkdirAll(t.Dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make state directory: %w", err)
	}
	d, err := openState(t.Dir)
	if err != nil {
		return nil, nil, err
	}
	lock, err := t.lockState(d)
	if err != nil {
		return nil, nil, errors.Join(err, d.close())
	}
	return d, lock, nil
}

func (t *Tuner) lockState(d *state) (*os.File, error) {
	info, err := d.root.Stat(".")
	if err != nil {
		return nil, fmt.Errorf("look at state directory: %w", err)
	}
	if !private(info) {
		return nil, fmt.Errorf("use state directory %s: others may enter it (mode %v): chmod 700 it, or name another", t.Dir, info.Mode().Perm())
	}
	lock, err := takeLock(d, t.By, t.now())
	if err != nil {
		return nil, fmt.Errorf("lock state directory %s: %w", t.Dir, err)
	}
	return lock, nil
}

func (s *session) end() error {
	s.count()
	return errors.Join(s.journal.file.Close(), kernel.UnlockFile(s.lock), s.dir.close())
}

func (t *Tuner) now() time.Time {
	if t.Now == nil {
		return time.Now().UTC()
	}
	return t.Now().UTC()
}

// put records an entry.
func (s *session) put(e Entry) error {
	if err := s.step("journal " + string(e.State)); err != nil {
		return err
	}
	if err := s.journal.put(e); err != nil {
		return err
	}
	if e.State == Intended {
		s.count()
	}
	return s.step("after journal " + string(e.State))
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
	if err := set.Write(ctx, at, value); err != nil {
		return err
	}
	return s.step("after write")
}

func (t *Tuner) step(name string) error {
	if t.Fault == nil {
		return nil
	}
	return t.Fault(name)
}

// mechanism also knows the files that Persist has written. No plan may name
// them: setter is for plans.
func (t *Tuner) mechanism(setting string) (setter.Setter, error) {
	if f := t.fileSetter(); f.Owns(setting) {
		return f, nil
	}
	return t.setter(setting)
}

// setter returns the mechanism of a setting that a plan may change.
func (t *Tuner) setter(setting string) (setter.Setter, error) {
	for _, s := range t.Setters {
		if s.Owns(setting) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("setting %q: this linerate has no mechanism for it; like it are %s", setting, strings.Join(guide.NearIDs(setting, 3), ", "))
}

func place(e Entry) setter.Place { return setter.Place{Setting: e.Setting, Target: e.Target} }
