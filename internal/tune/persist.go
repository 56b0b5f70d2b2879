package tune

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/model"
	"linerate/internal/tune/file"
	"linerate/internal/tune/persist"
	"linerate/internal/tune/setter"
)

// filesName is the directory of the state directory that keeps what files held.
const filesName = "files"

// FileChange is one file that makes settings outlive a restart.
type FileChange struct {
	Path    string `json:"path"` // empty: no file does, Note says why
	Existed bool   `json:"existed"`
	Before  string `json:"before"`
	After   string `json:"after"`
	// Settings are those that the file makes permanent.
	Settings []string `json:"settings"`
	Note     string   `json:"note,omitempty"`
}

// Persist makes what a plan changed outlive a restart, by files that are
// journalled and undone like any other change. All of them are written, or
// none. With dry it only says what it would write. Persisting twice is
// persisting once.
//
// Errors: ErrUnconfirmed while the plan waits to be confirmed (a dry one only looks), ErrPlan when
// nothing of it is in force, ErrBusy, or what kept a file from being written.
func (t *Tuner) Persist(ctx context.Context, planID string, dry bool) (changes []FileChange, err error) {
	s, err := t.begin()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.end()) }()
	values, err := s.inForce(planID, dry)
	if err != nil {
		return nil, err
	}
	files, changes, err := s.render(ctx, values)
	if err != nil || dry || len(files) == 0 {
		return changes, err
	}
	return changes, s.writeFiles(ctx, planID, files)
}

// Files says which files would make a plan outlive a restart that was not
// applied yet, with what each holds and would hold. It changes nothing and
// takes no lock.
//
// Errors: ErrPlan, or what kept a file from being read.
func (t *Tuner) Files(ctx context.Context, p model.Plan) ([]FileChange, error) {
	steps, err := t.check(p)
	if err != nil {
		return nil, err
	}
	var values []persist.Value
	for _, st := range steps {
		values = append(values, persist.Value{Setting: st.at.Setting, Target: st.at.Target, Value: st.to})
	}
	_, changes, err := t.render(ctx, values)
	return changes, err
}

// render makes the files of values; nothing is written.
func (t *Tuner) render(ctx context.Context, values []persist.Value) ([]persist.File, []FileChange, error) {
	host := persist.Host{}
	if t.Persisting != nil {
		var err error
		if host, err = t.Persisting(ctx); err != nil {
			return nil, nil, fmt.Errorf("see how this host keeps settings: %w", err)
		}
	}
	host.Read = t.fileText
	files, refused, err := persist.Render(values, host)
	if err != nil {
		return nil, nil, err
	}
	changes, err := t.describe(files, refused)
	return files, changes, err
}

// inForce lists what a plan changed of the running kernel. It refuses one that waits, unless
// that is allowed.
func (s *session) inForce(planID string, waiting bool) ([]persist.Value, error) {
	if w, ok, err := readWaiting(s.Dir); err != nil {
		return nil, err
	} else if ok && !waiting && w.Plan == planID && w.armed(s.BootID) {
		return nil, fmt.Errorf("%w: %s: confirm it before it is made permanent", ErrUnconfirmed, planID)
	}
	var values []persist.Value
	for _, e := range s.journal.entries {
		if e.Plan == planID && e.Open(s.BootID) && !strings.HasPrefix(e.Setting, file.Prefix) && e.State == Applied {
			values = append(values, persist.Value{Setting: e.Setting, Target: e.Target, Value: e.After})
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%w %s: nothing that it changed is in force, so there is nothing to make permanent", ErrPlan, planID)
	}
	return values, nil
}

func (t *Tuner) fileSetter() file.Setter {
	return file.Setter{Root: t.Root, Store: filepath.Join(t.Dir, filesName)}
}

// fileText is persist.Host.Read.
func (t *Tuner) fileText(path string) (string, bool, error) {
	b, err := t.Root.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return string(b), err == nil, err
}

func (t *Tuner) describe(files []persist.File, refused []persist.Refused) ([]FileChange, error) {
	out := []FileChange{}
	for _, f := range files {
		before, existed, err := t.fileText(f.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, FileChange{Path: f.Path, Before: before, After: f.Text, Existed: existed, Settings: f.Settings, Note: f.Note})
	}
	for _, r := range refused {
		out = append(out, FileChange{Settings: []string{r.Setting}, Note: r.Why})
	}
	return out, nil
}

// writeFiles writes all or, when any fails, puts back those that it wrote.
func (s *session) writeFiles(ctx context.Context, planID string, files []persist.File) error {
	var steps []step
	for _, f := range files {
		more, err := s.fileSteps(ctx, f, steps)
		if err != nil {
			return fmt.Errorf("%w: nothing was written", err)
		}
		steps = append(steps, more...)
	}
	if err := s.shellable(steps); err != nil {
		return fmt.Errorf("%w: nothing was written", err)
	}
	p := model.Plan{ID: planID}
	res := Result{Plan: planID}
	for _, st := range steps {
		e, err := s.applyOne(ctx, p, st)
		if e.Seq > 0 {
			res.Entries = append(res.Entries, e)
		}
		if err != nil {
			_, err = s.rollback(ctx, p, res, err)
			return err
		}
	}
	return nil
}

// fileSteps are the changes that put a file in place, the directories that it
// needs first; those that done makes already are left out. It keeps both texts
// and sees that the file can be written, but changes nothing.
func (s *session) fileSteps(ctx context.Context, f persist.File, done []step) ([]step, error) {
	set := s.fileSetter()
	at := setter.Place{Setting: file.Prefix + f.Path}
	from, err := set.Read(ctx, at, "")
	if err != nil {
		return nil, err
	}
	before, existed, err := set.Text(at)
	if err != nil {
		return nil, err
	}
	if existed {
		if err := s.keep(set, before); err != nil {
			return nil, err
		}
	}
	if err := s.keep(set, []byte(f.Text)); err != nil {
		return nil, err
	}
	steps := []step{{set: set, at: at, from: from, to: set.Value(at, []byte(f.Text), from)}}
	dir := path.Dir(f.Path)
	for ; !s.Root.Exists(dir) && dir != "/"; dir = path.Dir(dir) {
		st := step{set: set, at: setter.Place{Setting: file.Prefix + dir + "/"}, from: file.Absent, to: file.Directory()}
		if !slices.ContainsFunc(done, func(d step) bool { return d.at == st.at }) {
			steps = slices.Insert(steps, 0, st)
		}
	}
	return steps, writable(s.Root.Path(dir))
}

func (s *session) keep(set file.Setter, text []byte) error {
	if err := s.step("keep"); err != nil {
		return err
	}
	return set.Keep(text)
}

// writable tries: a file system that is mounted read-only says so to nobody
// who only looks at modes.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".linerate-try-*")
	if err != nil {
		return fmt.Errorf("write below %s: %w", dir, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// tidy removes what a writer that was killed left beside a file.
func (s *session) tidy(e Entry) error {
	if !strings.HasPrefix(e.Setting, file.Prefix) {
		return nil
	}
	return s.fileSetter().Tidy(place(e))
}
