package tune

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// keptName is the copy of linerate that the dead-man and undo.sh start.
const keptName = "linerate"

// KeptBinary is where a copy of this program is kept while changes are open
// that need it: of an agent that was copied to the host for a session, and of
// any linerate where undo.sh lacks a program.
func (t *Tuner) KeptBinary() string { return filepath.Join(t.Dir, keptName) }

// CopyProgram copies this program to KeptBinary. A copy that is there may be
// running: it is replaced, not written over, and left alone if it is the same.
func (t *Tuner) CopyProgram() (kept string, err error) {
	kept = t.KeptBinary()
	if t.Program == "" {
		return "", errors.New("own path is not known")
	}
	want, err := fileSum(t.Program)
	if err != nil {
		return "", fmt.Errorf("copy this program: %w", err)
	}
	d, err := openState(t.Dir)
	if err != nil {
		return "", fmt.Errorf("copy this program: %w", err)
	}
	defer d.close() // its files are synced: a close that fails loses nothing
	have, err := d.sum(keptName)
	if err == nil && have == want {
		return kept, nil
	}
	if err := d.copyIn(keptName, t.Program); err != nil {
		return "", fmt.Errorf("copy this program: %w", err)
	}
	return kept, nil
}

// Keep copies this program to KeptBinary and has undo.sh know the copy. The copy
// is made even where another linerate is at work, which is then an error.
func (t *Tuner) Keep(ctx context.Context) (kept string, err error) {
	if kept, err = t.CopyProgram(); err != nil {
		return "", err
	}
	s, err := t.beginWithin(ctx, confirmWait)
	if err != nil {
		return kept, fmt.Errorf("have %s know %s: %w", scriptName, kept, err)
	}
	return kept, errors.Join(s.copied(), s.end())
}

// copied has undo.sh know the copy. Where nothing is open, the next change makes
// the script anew.
func (s *session) copied() error {
	if len(s.open(UndoRequest{})) == 0 {
		return nil
	}
	return s.writeScript()
}

// shellable sees to it that undo.sh can put back what the steps are going to
// change. Where this host lacks a program that the script would call, a copy of
// linerate is kept for the script; where none can be kept, the steps are refused.
func (s *session) shellable(steps []step) error {
	for _, st := range steps {
		sh, err := st.set.Shell(st.at, st.from)
		if err != nil {
			return err
		}
		missing := s.missing(sh.Programs)
		if len(missing) == 0 {
			continue
		}
		if s.Program == "" {
			return fmt.Errorf("%w: %s could not put %s back without %s, which this host lacks: install it first",
				ErrPlan, scriptName, st.at, strings.Join(missing, ", "))
		}
		if err := s.step("keep program"); err != nil {
			return err
		}
		if _, err := s.CopyProgram(); err != nil {
			return fmt.Errorf("%w: %s could not put %s back without %s, which this host lacks, and no copy of linerate can be kept for it: %w: "+
				"install what is lacking, or make room in %s", ErrPlan, scriptName, st.at, strings.Join(missing, ", "), err, s.Dir)
		}
		return s.copied()
	}
	return nil
}

// missing are the programs that this host lacks.
func (t *Tuner) missing(programs []string) []string {
	path := t.Path
	if path == "" {
		path = setter.ProgramPath
	}
	return slices.DeleteFunc(slices.Clone(programs), func(name string) bool {
		_, err := kernel.FindProgram(name, path)
		return err == nil
	})
}

// keptSum is the hash of the copy that is kept; empty: none is.
func (s *session) keptSum() (string, error) {
	sum, err := s.dir.sum(keptName)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return sum, err
}

func fileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read: a close that fails loses nothing
	return sumOf(f)
}

// sum is the hash of a file of ours.
func (d *state) sum(name string) (string, error) {
	f, err := d.open(name, os.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read: a close that fails loses nothing
	return sumOf(f)
}

func sumOf(r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyIn has a copy of an executable file in the directory, whole or not at all.
func (d *state) copyIn(name, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close() // only read: a close that fails loses nothing
	return d.replace(name, 0o700, src)
}

// ValueRole is the subcommand by which undo.sh has the kept copy read or write
// one value.
const ValueRole = "tune-value"

// Value is the work of ValueRole: args are read, the setting, its target and a
// value whose parts are meant, or write, the setting, its target and the value.
// It takes no lock and writes no journal, because undo.sh has to work where the
// journal cannot be read.
func (t *Tuner) Value(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 4 || args[0] != "read" && args[0] != "write" {
		return fmt.Errorf("read or write a value: want read or write, SETTING, TARGET, VALUE; got %q", args)
	}
	set, err := t.mechanism(args[1])
	if err != nil {
		return err
	}
	at := setter.Place{Setting: args[1], Target: args[2]}
	if args[0] == "write" {
		return set.Write(ctx, at, args[3])
	}
	value, err := set.Read(ctx, at, args[3])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, value)
	return err
}
