package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/store"
	"linerate/internal/tune/profile"
)

// maxProfileFile bounds what is read of a file; the parser bounds it too.
const maxProfileFile = 1 << 20

// profileDir is where the user's profiles are kept.
func profileDir(env *environment) (string, error) {
	dir, err := store.ConfigDir(env.Getenv)
	return filepath.Join(dir, "profiles"), err
}

func profileFile(env *environment, name string) (string, error) {
	if err := profile.CheckName(name); err != nil {
		return "", failure.Of(failure.Usage, "%v", err)
	}
	dir, err := profileDir(env)
	return filepath.Join(dir, name+".yaml"), err
}

// userProfiles lists the names of the user's profiles.
func userProfiles(env *environment) ([]string, error) {
	dir, err := profileDir(env)
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

// findProfile reads a profile: a built-in one, one of the user's, or a file by
// its path.
func findProfile(env *environment, name string) (profile.Profile, error) {
	if strings.ContainsAny(name, `/\`) {
		return readProfile(name)
	}
	if p, ok := profile.Builtin(name); ok {
		return p, nil
	}
	own, err := userProfiles(env)
	if err != nil {
		return profile.Profile{}, err
	}
	if !slices.Contains(own, name) {
		all := append(profile.Names(), own...)
		return profile.Profile{}, failure.Of(failure.Usage, "there is no profile %q; near it are %s; linerate profile list shows all",
			name, strings.Join(conf.Closest(name, all, 3), ", "))
	}
	file, err := profileFile(env, name)
	if err != nil {
		return profile.Profile{}, err
	}
	return readProfile(file)
}

func readProfile(file string) (profile.Profile, error) {
	f, err := os.Open(file)
	if err != nil {
		return profile.Profile{}, failure.Of(failure.Usage, "read profile: %v", err)
	}
	defer f.Close() // only read
	_, p, err := parseProfile(f, filepath.Base(file))
	return p, err
}

// parseProfile reads the text of a profile and checks it.
func parseProfile(in io.Reader, name string) ([]byte, profile.Profile, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxProfileFile))
	if err != nil {
		return nil, profile.Profile{}, fmt.Errorf("read profile %s: %w", name, err)
	}
	p, err := profile.Parse(name, text)
	if err != nil {
		return nil, p, failure.Of(failure.Usage, "read profile: %v", err)
	}
	return text, p, nil
}

// keepProfile writes a profile of the user's, whole or not at all. One that is
// there already is replaced only when that was asked for.
func keepProfile(env *environment, name string, text []byte, replace bool) (file string, err error) {
	if slices.Contains(profile.Names(), name) {
		return "", failure.Of(failure.Usage, "%s is a built-in profile: give yours another name", name)
	}
	file, err = profileFile(env, name)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(file); err == nil && !replace {
		return "", failure.Of(failure.Usage, "there is a profile %s already: add --replace to write over it, or give another name", name)
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("keep profile: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", fmt.Errorf("keep profile: %w", err)
	}
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return "", fmt.Errorf("keep profile: %w", errors.Join(err, os.Remove(tmp.Name())))
	}
	return file, nil
}
