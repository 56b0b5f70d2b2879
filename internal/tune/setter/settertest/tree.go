package settertest

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linerate/internal/kernel"
)

// Tree is a fake host's files, which take writes as a kernel does. It implements setter.Tree.
type Tree struct {
	kernel.Root
	// Takes says what becomes of a write to a file, by its path: the new content, or why it is
	// refused. A file that is not in it keeps what is written.
	Takes map[string]func(old, written string) (string, error)

	refuse error
	vanish string
}

// NewTree makes the files with their content. A content that begins with
// "-> " is a symbolic link.
func NewTree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(files[name], "-> "); ok {
			err = os.Symlink(to, full)
		} else {
			err = os.WriteFile(full, []byte(files[name]), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &Tree{Root: kernel.Root(dir), Takes: map[string]func(string, string) (string, error){}}
}

func (f *Tree) WriteFile(path string, b []byte) error {
	if f.refuse != nil {
		return &fs.PathError{Op: "write", Path: path, Err: f.refuse}
	}
	old, err := f.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(b)
	if take := f.Takes[path]; take != nil {
		if text, err = take(string(old), text); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
	}
	if err := f.Root.WriteFile(path, []byte(text)); err != nil {
		return err
	}
	if f.vanish != "" {
		return os.RemoveAll(f.Path(f.vanish))
	}
	return nil
}

func (f *Tree) ReplaceFile(path string, b []byte) error { return f.WriteFile(path, b) }

// Refuse has every write fail with err; nil ends that.
func (f *Tree) Refuse(err error) { f.refuse = err }

// VanishAt returns a Case.Vanish: with the next write that reaches the tree a path goes.
func (f *Tree) VanishAt(path string) func() { return func() { f.vanish = path } }

// All prints every file with its content but those named, for Case.Rest.
func (f *Tree) All(but ...string) string {
	var b strings.Builder
	// Whatever cannot be walked or read shows as a difference.
	_ = filepath.WalkDir(string(f.Root), func(p string, d fs.DirEntry, err error) error {
		rel := "/" + strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(p, string(f.Root))), "/")
		if err != nil || d.IsDir() || slices.Contains(but, rel) {
			return err
		}
		content, _ := os.ReadFile(p)
		b.WriteString(rel + ": " + strings.TrimSpace(string(content)) + "\n")
		return nil
	})
	return b.String()
}
