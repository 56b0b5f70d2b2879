package host

import (
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/kernel"
)

// What the dead-man is started from is still there when its time is over.
func TestWatcherIsStartedFromWhatStays(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "linerate")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	installed, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil || kernel.OverNetwork(dir) || kernel.OverNetwork(installed) || kernel.StartsNoPrograms(dir) {
		t.Skipf("needs /bin/sh and %s on local disks that start programs: %v", dir, err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(installed, link); err != nil {
		t.Fatal(err)
	}
	const noPrograms = "/proc/sys"
	for _, tt := range []struct {
		program, state string
		later, want    bool
		skip           bool
	}{
		{program, dir, false, true, false}, // it runs already
		{program, dir, true, false, false}, // may be cleaned until then
		{installed, dir, true, true, false},
		{link, dir, true, true, false},
		{filepath.Join(dir, "none"), dir, false, false, false},
		{program, noPrograms, true, true, !kernel.StartsNoPrograms(noPrograms)}, // a copy could not be started
	} {
		if tt.skip {
			t.Logf("%s is not mounted noexec here: not tried", tt.state)
			continue
		}
		if got := stays(tt.program, tt.state, tt.later); got != tt.want {
			t.Errorf("%s, state in %s, later %v: %v", tt.program, tt.state, tt.later, got)
		}
	}
	// The starter takes a copy where the program may go.
	a, err := newAgent(AgentOptions{Self: []string{program}, StateDir: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(a.o.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for later, want := range map[bool]string{false: program, true: a.tuner.KeptBinary()} {
		argv, err := a.watcher(later)
		if err != nil || len(argv) != 1 || argv[0] != want {
			t.Errorf("later %v: %q, %v; want %q", later, argv, err, want)
		}
	}
	if _, err := os.Stat(a.tuner.KeptBinary()); err != nil {
		t.Error(err)
	}
}
