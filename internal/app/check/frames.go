package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
)

// framesExt ends the name of a recording of a host on which linerate does not run, and the name of
// its system begins it: freebsd-host.frames.
const framesExt = ".frames"

// openRecording opens a recording that a user named, by its folder, its archive, or the file of such a
// host. frames is the name of that file in it; empty: it is another kind of recording.
func openRecording(from string) (dir snapshot.Folder, frames string, err error) {
	if strings.HasSuffix(from, framesExt) {
		dir, err = snapshot.OpenFolder(filepath.Dir(from))
		return dir, filepath.Base(from), err
	}
	if dir, err = snapshot.OpenFolder(from); err != nil {
		return dir, "", err
	}
	names, err := dir.Names()
	if err != nil || slices.Contains(names, snapshot.FileName) {
		return dir, "", nil // reading it as a snapshot says what is wrong
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasSuffix(n, framesExt) })
	switch len(names) {
	case 0:
		return dir, "", nil
	case 1:
		return dir, names[0], nil
	}
	return dir, "", failure.Of(failure.Usage, "check %s: it has %d recordings: name one of them, such as %s", from, len(names), dir.Path(names[0]))
}

// Elsewhere reads a host on which linerate of this build does not run, by its system's script. cannot is what
// starting an agent there ended with; where it is of another kind, or the system is not known, so does this.
func Elsewhere(ctx context.Context, e app.Env, n host.Name, p app.Progress, cannot error) (*model.Facts, error) {
	var other *host.Foreign
	if !errors.As(cannot, &other) {
		return nil, cannot
	}
	system, ok := systems.Find(other.GOOS)
	if !ok {
		return nil, cannot
	}
	answer, err := e.Reach(p).Ask(ctx, n, system.Name(), system.Script(), frame.Most)
	if err != nil {
		return nil, err
	}
	return systems.Read(system, answer, n.String(), e.Now())
}

// RecordedElsewhere reads the recording of such a host; nil: it is another kind of recording.
func RecordedElsewhere(from string) (*model.Facts, error) {
	dir, frames, err := openRecording(from)
	if err != nil || frames == "" {
		return nil, err
	}
	return framesFacts(dir, frames)
}

// framesFacts reads one.
func framesFacts(dir snapshot.Folder, file string) (*model.Facts, error) {
	name, _, _ := strings.Cut(strings.TrimSuffix(file, framesExt), "-")
	system, ok := systems.Find(name)
	if !ok {
		var known []string
		for _, s := range systems.All() {
			known = append(known, s.Name()+"-NAME"+framesExt)
		}
		return nil, failure.Of(failure.Usage, "check %s: its name does not begin with that of a system: call it one of %s", dir.Path(file), strings.Join(known, ", "))
	}
	answer, err := dir.Read(file, frame.Most)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", dir.Path(file), err)
	}
	return systems.Read(system, answer, strings.TrimSuffix(file, framesExt), time.Time{})
}
