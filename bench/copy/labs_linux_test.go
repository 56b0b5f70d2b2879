package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What a program has not copied to a mount, or not right, is found whatever it said.
func TestCopiesOnMountsAreCompared(t *testing.T) {
	for _, p := range []string{"diff", "cmp", "stat"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("trees are compared by a program that is not here: %v", err)
		}
	}
	large := bytes.Repeat([]byte("linerate"), 3<<17) // of 3 MiB
	other := bytes.Clone(large)
	other[len(other)-1]++
	for _, c := range []struct {
		what      string
		name      string
		has, gets []byte
		same      bool
	}{
		{"a small file", "d/f", []byte("x"), []byte("x"), true},
		{"another content", "d/f", []byte("x"), []byte("y"), false},
		{"nothing", "d/f", []byte("x"), nil, false},
		{"a large file", "large", large, large, true},
		{"another end of it", "large", large, other, false},
		{"a part of it", "large", large, large[:1<<20], false},
		{"no large file", "large", large, nil, false},
	} {
		from, to := t.TempDir(), t.TempDir()
		put := func(root string, content []byte) error {
			if content == nil {
				return nil
			}
			at := filepath.Join(root, c.name)
			return errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, content, 0o644))
		}
		if err := errors.Join(put(from, c.has), put(to, c.gets)); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("sh", "-c", compareTrees, from, to).CombinedOutput(); (err == nil) != c.same {
			t.Errorf("%s: %v: %s", c.what, err, out)
		}
	}
}
