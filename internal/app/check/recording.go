package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/facts"
	"linerate/internal/failure"
	"linerate/internal/guide"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
)

// recording is what the host of a recording is called.
func (o Options) recording() string {
	return strings.TrimSuffix(filepath.Base(filepath.Clean(o.From)), snapshot.ArchiveExt)
}

// recordedFacts reads a snapshot, of one look or of two.
func recordedFacts(ctx context.Context, o Options) (looks, error) {
	dir, frames, err := openRecording(o.From)
	if err != nil {
		return looks{}, err
	}
	if frames != "" {
		f, err := framesFacts(dir, frames)
		return looks{last: f}, err
	}
	f, err := recordedLook(ctx, o, dir, snapshot.FileName)
	if err != nil {
		return looks{}, err
	}
	again, err := recordedLook(ctx, o, dir, snapshot.SecondName)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return looks{last: f}, nil
	case err != nil:
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "the second look of the snapshot", WouldShow: "which counters rose", How: failure.FirstLine(err)})
		return looks{last: f}, nil
	}
	return looks{f, again}, nil
}

// recordedLook reads one file of a snapshot. One that was cut short is read as
// far as it goes, and says so.
func recordedLook(ctx context.Context, o Options, dir snapshot.Folder, file string) (*model.Facts, error) {
	h, err := dir.Host(file)
	if h == nil {
		return nil, err
	}
	taken := time.Time{}
	if m, ok := h.Manifest(); ok {
		taken = m.Taken
		if h.GOOS = m.OS; h.GOOS == "" {
			h.GOOS = "linux"
		}
	}
	f, readErr := facts.Read(ctx, h, o.recording(), taken)
	if readErr != nil && err != nil {
		return nil, fmt.Errorf("%w; %w", readErr, err)
	}
	if readErr != nil {
		return nil, readErr
	}
	if err != nil {
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "the rest of the snapshot", WouldShow: "what lies behind the cut", How: err.Error() + "; record it again"})
	}
	return f, nil
}

// Recording is a recording that was made.
type Recording struct {
	Bytes int    `json:"bytes"` // of all its files; of an archive its own
	File  string `json:"snapshot"`
}

// Names tells what becomes in a recording of the names that people gave.
type Names = snapshot.Names

// Names are kept, or replaced.
const (
	KeepNames = snapshot.KeepNames
	HideNames = snapshot.HideNames
)

// Record records this host into a new folder, or into an archive where to is the name of one: one look,
// or two that far apart where watch is not 0.
func Record(ctx context.Context, e app.Env, to string, watch time.Duration, names Names) (Recording, error) {
	w, err := newWriter(to)
	if err != nil {
		return Recording{}, err
	}
	first, err := recordLook(ctx, e, names)
	if err != nil {
		return Recording{}, err
	}
	if err := w.add(snapshot.FileName, first); err != nil || watch == 0 {
		return w.done(err)
	}
	select {
	case <-ctx.Done():
		return w.Recording, ctx.Err()
	case <-time.After(watch):
	}
	again, err := recordLook(ctx, e, names)
	if err != nil {
		return w.Recording, err
	}
	return w.done(w.add(snapshot.SecondName, again))
}

// RecordForeign asks a host on which linerate does not run, and writes what its commands answered
// into a new folder or an archive, as it may be shown to others.
func RecordForeign(ctx context.Context, e app.Env, name, to string, p app.Progress) (Recording, error) {
	n, err := reach.HostName(name)
	if err != nil {
		return Recording{}, err
	}
	w, err := newWriter(to)
	if err != nil {
		return Recording{}, err
	}
	agent, err := e.Reach(p).Agent(ctx, n)
	if err == nil {
		return Recording{}, errors.Join(failure.Of(failure.Usage, "record a snapshot of %s: linerate itself can run there: log in and record it there", name), agent.Close())
	}
	var other *host.Foreign
	if !errors.As(err, &other) {
		return Recording{}, err
	}
	system, ok := systems.Find(other.GOOS)
	if !ok {
		return Recording{}, err
	}
	share := frame.Share
	if system.Name() == "windows" {
		share = frame.ShareWindows
	}
	answer, err := e.Reach(p).Ask(ctx, n, system.Name(), system.Script(), frame.Most)
	if err != nil {
		return Recording{}, err
	}
	if answer, err = share(answer); err != nil {
		return Recording{}, fmt.Errorf("record a snapshot of %s: %w", name, err)
	}
	return w.done(w.add(system.Name()+"-host"+framesExt, answer))
}

func recordLook(ctx context.Context, e app.Env, names Names) ([]byte, error) {
	r := snapshot.NewRecorder(kernel.Live{})
	taken := e.Now()
	if _, err := facts.Read(ctx, r, reach.Here, taken); err != nil {
		return nil, err
	}
	// Through Live itself: the recorder would keep every package's list.
	files, err := facts.ReadHostFiles(ctx, kernel.Live{}, guide.Sysctls(), guide.Parameters())
	if err == nil {
		err = r.KeepHostFiles(files)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("record a snapshot: %w", err)
	}
	return r.Shareable(taken, names)
}
