package copy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/store"
)

// begun is the note of a copy that was begun, from which --resume last takes its options. A
// copy that was killed leaves no bundle, but this.
type begun struct {
	V       int     `json:"v"`
	Dir     string  `json:"dir"` // that relative paths are relative to
	Options Options `json:"options"`
	// Raw are the paths of Options and Dir as they are: names are bytes, and JSON's text would
	// make another path of one that is no UTF-8. Version 1 had none of this.
	Raw  rawPaths `json:"raw"`
	Done bool     `json:"done"`
}

type rawPaths struct {
	Dir     move.Raw   `json:"dir"`
	Sources []move.Raw `json:"sources"`
	Target  move.Raw   `json:"target"`
	Exclude []move.Raw `json:"exclude"`
	Targets []move.Raw `json:"targets,omitempty"`
}

// noteVersion is of begun. maxNote is far more than a command line may have.
const (
	noteVersion = 2
	maxNote     = 16 << 20
)

func notePath(e app.Env) (string, error) {
	root, err := store.DataDir(e.Getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(root, "copy-last.json"), nil
}

// note writes down what a copy was asked to do, or that it is done.
func note(e app.Env, o Options, done bool) error {
	path, err := notePath(e)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	b, err := json.Marshal(begun{noteVersion, dir, o, rawPaths{move.Raw(dir), move.Raws(o.Sources), move.Raw(o.Target), move.Raws(o.Exclude), move.Raws(o.Spread.Targets)}, done})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".copy-last-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("note the copy: %w", err), os.Remove(f.Name()))
	}
	return nil
}

// note notes what the copy was asked to do, or that it is done. Where that cannot be written the copy goes
// on all the same, since the same command does too, and the result says so.
func (r *Result) note(e app.Env, o Options, done bool) {
	if err := note(e, o, done); err != nil {
		what := map[bool]string{false: "this copy is not noted as the last one", true: "it is not noted that this copy is done"}[done]
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %v", what, err))
	}
}

// lastBegun is the note of the copy that was begun last.
func lastBegun(e app.Env) (n begun, err error) {
	path, err := notePath(e)
	if err != nil {
		return n, err
	}
	b, err := app.ReadFile(path, maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return n, failure.Of(failure.Nothing, "no copy was begun yet: name a source and a target")
	}
	if err != nil {
		return n, fmt.Errorf("read the last copy: %w", err)
	}
	if err := json.Unmarshal(b, &n); err != nil || n.V < 1 || n.V > noteVersion {
		return n, fmt.Errorf("read the last copy: %s is of no version that this linerate knows: name source and target", path)
	}
	return n, nil
}

// Last is what the copy that was begun last was asked to do, if it did not end well.
func Last(e app.Env) (Options, error) {
	n, err := lastBegun(e)
	if err != nil {
		return Options{}, err
	}
	if r := n.Raw; n.V > 1 {
		n.Dir, n.Options.Sources, n.Options.Target, n.Options.Exclude = string(r.Dir), move.Strings(r.Sources), string(r.Target), move.Strings(r.Exclude)
		n.Options.Spread.Targets = move.Strings(r.Targets)
	}
	if n.Done {
		return Options{}, failure.Of(failure.Nothing, "the last copy, to %s, was done: name a source and a target for another", strings.Join(append(n.Options.Spread.Targets, n.Options.Target)[:max(1, len(n.Options.Spread.Targets))], ", "))
	}
	for i, s := range n.Options.Sources {
		n.Options.Sources[i] = below(n.Dir, s)
	}
	for i, t := range n.Options.Spread.Targets {
		n.Options.Spread.Targets[i] = below(n.Dir, t)
	}
	if n.Options.Target != "" {
		n.Options.Target = below(n.Dir, n.Options.Target)
	}
	return n.Options, nil
}

// below makes a path absolute and keeps the '/' at its end, which has a meaning.
func below(dir, path string) string {
	if _, _, far := remote(path); far || filepath.IsAbs(path) {
		return path
	}
	return dir + "/" + path
}
