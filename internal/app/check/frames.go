package check

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/internal/failure"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
)

// framesExt ends the name of a recording of a host on which linerate does not run, and the name of
// its system begins it: freebsd-host.frames.
const framesExt = ".frames"

// framesFile is the recording of such a host that a user named, by its file or its folder; empty: it
// is another kind of recording.
func framesFile(from string) (string, error) {
	if strings.HasSuffix(from, framesExt) {
		return from, nil
	}
	if _, err := os.Lstat(filepath.Join(from, snapshot.FileName)); err == nil {
		return "", nil
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return "", nil // reading it as a snapshot says what is wrong
	}
	var found []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), framesExt) {
			found = append(found, filepath.Join(from, e.Name()))
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", failure.Of(failure.Usage, "check %s: it has %d recordings: name one of them: --from %s", from, len(found), found[0])
}

// framesFacts reads one.
func framesFacts(file string) (*model.Facts, error) {
	name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), framesExt), "-")
	system, ok := systems.Find(name)
	if !ok {
		var known []string
		for _, s := range systems.All() {
			known = append(known, s.Name()+"-NAME"+framesExt)
		}
		return nil, failure.Of(failure.Usage, "check %s: its name does not begin with that of a system: call it one of %s", file, strings.Join(known, ", "))
	}
	answer, err := snapshot.ReadPlain(file, frame.Most)
	if err != nil {
		return nil, fmt.Errorf("check %s: %w", file, err)
	}
	return systems.Read(system, answer, strings.TrimSuffix(filepath.Base(file), framesExt), time.Time{})
}
