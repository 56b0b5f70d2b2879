package tune

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"linerate/internal/failure"
)

func TestAScriptIsSavedWithItsUndoOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, beside string }{{"apply.sh", "#!/bin/sh\n", "undo.sh"}, {"apply.ps1", "# x\n", "undo.ps1"}} {
		w := Written{Script: c.text}
		out := filepath.Join(dir, c.name)
		files, err := save(out, c.text, "undoes", w.PowerShell())
		if err != nil || len(files) != 2 || files[0] != out || files[1] != filepath.Join(dir, c.beside) {
			t.Fatalf("%s: %v, %v", c.name, files, err)
		}
		for i, want := range []string{c.text, "undoes"} {
			b, err := os.ReadFile(files[i])
			info, err2 := os.Stat(files[i])
			if err := errors.Join(err, err2); err != nil || string(b) != want || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %q, %v", files[i], err, b, info)
			}
		}
		if _, err := save(filepath.Join(dir, "other"+filepath.Ext(out)), "x", "x", w.PowerShell()); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), c.beside+" is there already") {
			t.Errorf("beside an undo of another plan: %v", err)
		}
		if err := os.Remove(files[1]); err != nil {
			t.Fatal(err)
		}
		if _, err := save(out, "x", "x", w.PowerShell()); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), c.name+" is there already") {
			t.Errorf("written over: %v", err)
		}
		if _, err := os.Lstat(files[1]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("an undo without its script: %v", err)
		}
		for _, bad := range []string{filepath.Base(files[1]), strings.ToUpper(filepath.Base(files[1])), map[bool]string{true: "a.sh", false: "a.ps1"}[w.PowerShell()]} {
			if _, err := save(filepath.Join(dir, bad), "x", "x", w.PowerShell()); failure.KindOf(err) != failure.Usage {
				t.Errorf("%s: %v", bad, err)
			}
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("%v, %v", left, err)
	}
}
