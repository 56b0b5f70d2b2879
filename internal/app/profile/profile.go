// Package profile is the work of the profile commands: it finds, lists, reads and keeps the
// profiles of the user, and makes one of what runs on a host. It refuses to change a
// host, to take the name of a built-in profile, and to write over one of the user's
// unless that is asked for.
package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/app"
	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/store"
	"linerate/internal/tune/profile"
)

// Profile is a set of value rules for one kind of work.
type Profile = profile.Profile

// Format is a profile as one file that needs no other.
func Format(p Profile) []byte { return profile.Format(p) }

// Errors that lead back to how the user asked.
var (
	ErrUnknown = errors.New("there is no profile")
	ErrKept    = errors.New("there is a profile") // of the user's, of that name
)

// Summary is a line of the list of profiles.
type Summary struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	For     string `json:"for"`
	Builtin bool   `json:"builtin"`
	Lines   int    `json:"lines"`
	// Error says why a file of the user's cannot be read.
	Error string `json:"error,omitempty"`
}

// List has the built-in profiles and the user's. A file that somebody broke does not take
// the others along.
func List(e app.Env) ([]Summary, error) {
	own, err := names(e)
	if err != nil {
		return nil, err
	}
	list := []Summary{}
	for _, name := range append(profile.Names(), own...) {
		p, err := Find(e, name)
		s := Summary{Name: name, Title: p.Title, For: p.For, Builtin: p.Builtin, Lines: len(p.Lines)}
		if err != nil {
			s.Error = failure.FirstLine(err)
		}
		list = append(list, s)
	}
	return list, nil
}

// Diff compares two profiles, found by their names.
func Diff(e app.Env, one, other string) ([]profile.Difference, error) {
	a, err := Find(e, one)
	if err != nil {
		return nil, err
	}
	b, err := Find(e, other)
	if err != nil {
		return nil, err
	}
	return profile.Diff(a, b), nil
}

// mine is the user's profile that is shown without being asked for.
const mine = "mine"

// Mine is the user's profile of that name; without a name the one that is called mine, nil
// if there is none.
func Mine(e app.Env, name string) (*Profile, error) {
	if name == "" {
		own, err := names(e)
		if err != nil || !slices.Contains(own, mine) {
			return nil, nil // none was asked for
		}
		name = mine
	}
	p, err := Find(e, name)
	return &p, err
}

// Import keeps a profile that it reads from in, which is called source, under the
// profile's own name.
func Import(e app.Env, in io.Reader, source string, replace bool) (Kept, error) {
	text, p, err := parse(in, source)
	if err != nil {
		return Kept{}, err
	}
	return keep(e, p.Name, text, replace)
}

// Kept is a profile that was kept, and where.
type Kept struct {
	File string `json:"file"`
	Name string `json:"name"`
}

// MaxFile bounds what is read of a file, in bytes; the parser bounds it too.
const MaxFile = 1 << 20

// folder is where the user's profiles are kept.
func folder(e app.Env) (string, error) {
	dir, err := store.ConfigDir(e.Getenv)
	return filepath.Join(dir, "profiles"), err
}

// CheckName refuses what is no name of a profile.
func CheckName(name string) error { return failure.As(failure.Usage, profile.CheckName(name)) }

func fileOf(e app.Env, name string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	dir, err := folder(e)
	return filepath.Join(dir, name+".yaml"), err
}

// names lists the user's profiles.
func names(e app.Env) ([]string, error) {
	dir, err := folder(e)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list profiles: %w", err)
	}
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".yaml")
		if ok && profile.CheckName(name) == nil {
			out = append(out, name)
		}
	}
	return out, nil
}

// Find reads a profile: a built-in one, one of the user's, or a file by
// its path.
func Find(e app.Env, name string) (Profile, error) {
	if strings.ContainsAny(name, `/\`) {
		return readFile(name)
	}
	if p, ok := profile.Builtin(name); ok {
		return p, nil
	}
	own, err := names(e)
	if err != nil {
		return Profile{}, err
	}
	if !slices.Contains(own, name) {
		all := append(profile.Names(), own...)
		err := failure.Of(failure.Usage, "%w %q; near it are %s", ErrUnknown, name, strings.Join(conf.Closest(name, all, 3), ", "))
		return Profile{}, failure.Advise(err, failure.ListProfiles)
	}
	file, err := fileOf(e, name)
	if err != nil {
		return Profile{}, err
	}
	return readFile(file)
}

func readFile(file string) (Profile, error) {
	text, err := app.ReadFile(file, MaxFile)
	if err != nil {
		return Profile{}, failure.Of(failure.Usage, "read profile: %v", err)
	}
	_, p, err := parse(bytes.NewReader(text), filepath.Base(file))
	return p, err
}

// parse reads the text of a profile and checks it.
func parse(in io.Reader, name string) ([]byte, Profile, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxFile))
	if err != nil {
		return nil, Profile{}, fmt.Errorf("read profile %s: %w", name, err)
	}
	p, err := profile.Parse(name, text)
	if err != nil {
		return nil, p, failure.Of(failure.Usage, "read profile: %v", err)
	}
	return text, p, nil
}

// keep writes a profile of the user's, whole or not at all. One that is there already is
// replaced only when that was asked for.
func keep(e app.Env, name string, text []byte, replace bool) (Kept, error) {
	if slices.Contains(profile.Names(), name) {
		return Kept{}, failure.Of(failure.Usage, "%s is a built-in profile: give yours another name", name)
	}
	file, err := fileOf(e, name)
	if err != nil {
		return Kept{}, err
	}
	if _, err := os.Lstat(file); err == nil && !replace {
		return Kept{}, failure.Of(failure.Usage, "%w %s already", ErrKept, name)
	}
	if err := write(file, text); err != nil {
		return Kept{}, fmt.Errorf("keep profile: %w", err)
	}
	return Kept{file, name}, nil
}

func write(file string, text []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
