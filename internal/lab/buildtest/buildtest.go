// Package buildtest builds programs that tests start, as users have them: without the race
// detector, which has no room in a host with a kernel of its own. It refuses to keep them: they go
// with the directory of the programs that scripts run.
package buildtest

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"linerate/internal/kernel"
)

// Once builds each program once in a test process.
type Once struct{ mu sync.Mutex }

// Program is the file, called name, of the main package pkg. It lies in a directory beside the
// linerate that testscript.Main has put first in PATH.
func (o *Once) Program(t testing.TB, name, pkg string) string {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	path := os.Getenv("PATH")
	linerate, err := kernel.FindProgram("linerate", path)
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(filepath.Dir(linerate), "built", name)
	if _, err := os.Stat(exe); err == nil {
		return exe
	}
	tool, err := kernel.FindProgram("go", path)
	if err != nil {
		t.Fatal(err)
	}
	own := exe + "." + rand.Text() // a test in another process may build its own at the same time
	build := kernel.Exec(t.Context(), tool, "build", "-trimpath", "-ldflags=-s", "-o", own, pkg)
	build.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", pkg, err, out)
	}
	if err := os.Rename(own, exe); err != nil {
		t.Fatal(err)
	}
	return exe
}
