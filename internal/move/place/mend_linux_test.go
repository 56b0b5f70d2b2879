package place

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// onDisk is an entry as a scan finds it.
func onDisk(t *testing.T, path, name string) *move.Entry {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	e := &move.Entry{Path: name, Kind: kindOf(st.Mode), Mode: st.Mode & 0o7777, UID: st.Uid, GID: st.Gid, Size: st.Size, Links: uint32(st.Nlink), Mtime: move.Time{Sec: st.Mtim.Sec, Nsec: st.Mtim.Nsec}}
	if e.Kind == move.Directory {
		e.Size = 0
	}
	return e
}

// What a target has already gets its source's metadata, by a plan as by a copy; where all is right nothing
// is touched.
func TestMetadataOfWhatIsThereAreMended(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *move.Entry)
		step   string // what a plan says; "": nothing
	}{
		"nothing":       {func(*move.Entry) {}, ""},
		"mode":          {func(e *move.Entry) { e.Mode = 0o640 }, "mode 0640, was 0644"},
		"set-ID":        {func(e *move.Entry) { e.Mode |= 0o4000 }, ""}, // is not kept
		"attribute":     {func(e *move.Entry) { e.Xattrs = []move.Xattr{{Name: "user.a", Value: []byte("1")}} }, "set user.a"},
		"group of many": {func(e *move.Entry) { e.GID++ }, fmt.Sprintf("owner %d:%d, was %[1]d:%[3]d", os.Getuid(), os.Getgid()+1, os.Getgid())},
	} {
		if name == "group of many" && os.Getuid() != 0 {
			t.Log("skipped: only root gives files away")
			continue
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		if err := errors.Join(os.WriteFile(file, []byte("content"), 0o644), os.Chmod(file, 0o644), os.Mkdir(file+"d", 0o755)); err != nil {
			t.Fatal(err)
		}
		e := onDisk(t, file, "f")
		if c.change(e); len(e.Xattrs) > 0 && unix.Setxattr(file+"d", "user.a", nil, 0) != nil {
			t.Log("skipped: this file system keeps no attributes")
			continue
		}
		var before, after unix.Stat_t
		if err := unix.Stat(file, &before); err != nil {
			t.Fatal(err)
		}
		want := []string{c.step}
		if c.step == "" {
			want = nil
		}
		if got := planOf(t, dir, e); !slices.Equal(got, want) {
			t.Errorf("%s: the plan is %q, not %q", name, got, want)
		}
		r := move.NewReport(nil)
		p, err := Open(dir, Options{}, r)
		if err != nil {
			t.Fatal(err)
		}
		_, have, err := p.Begin(t.Context(), e)
		if err = errors.Join(err, p.Finish(t.Context()), p.Close()); err != nil || !have.Same {
			t.Fatal(name, err, have)
		}
		if n := r.Summary().Mended; n != int64(len(want)) {
			t.Errorf("%s: %d entries mended", name, n)
		}
		if err := unix.Stat(file, &after); err != nil {
			t.Fatal(err)
		}
		if touched := before.Ctim != after.Ctim; touched != (want != nil) {
			t.Errorf("%s: ctime moved: %v", name, touched)
		}
		if lost, _, _ := r.Losses(); (lost[move.LostSetuid] == 1) != (name == "set-ID") {
			t.Errorf("%s: lost are %v", name, lost)
		}
		if got := planOf(t, dir, e); got != nil {
			t.Errorf("%s: after the copy the plan is %q", name, got)
		}
	}
}

// planOf says what a plan would set.
func planOf(t *testing.T, dir string, e *move.Entry) (steps []string) {
	t.Helper()
	p, err := Open(dir, Options{Plan: true}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	plan := &Planned{Place: p, Rep: move.NewReport(nil), Step: func(s Step) error {
		steps = append(steps, s.Why)
		return nil
	}}
	if err := errors.Join(plan.Make(t.Context(), e), p.Close()); err != nil {
		t.Fatal(err)
	}
	return steps
}

// A directory that was there counts where its rights are changed, and not for the time, which what it
// holds moves; one that the copy made does not.
func TestDirectoriesThatWereThereAreMended(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"right": 0o755, "open": 0o777, "shut": 0o500, "shut and wrong": 0o400} {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o700), os.Chmod(filepath.Join(dir, name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	r := move.NewReport(nil)
	p, err := Open(dir, Options{}, r)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]uint32{"right": 0o755, "open": 0o755, "shut": 0o500, "shut and wrong": 0o700, "made": 0o755} {
		e := &move.Entry{Path: name, Kind: move.Directory, Mode: mode, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Mtime: move.Time{Sec: 1000}}
		if err := p.Make(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	if m := r.Summary(); m.Mended != 2 || m.Directories != 5 || m.NewDirs != 1 {
		t.Errorf("%d directories, %d mended", m.Directories, m.Mended)
	}
	for name, mode := range map[string]uint32{"right": 0o755, "open": 0o755, "shut": 0o500, "shut and wrong": 0o700, "made": 0o755} {
		if e := onDisk(t, filepath.Join(dir, name), name); e.Mode != mode || e.Mtime.Sec != 1000 {
			t.Errorf("%s: mode %04o, time %d", name, e.Mode, e.Mtime.Sec)
		}
	}
}

// Where nothing is amiss a directory is left alone, also one that its owner may not write to.
func TestAShutDirectoryThatIsRightIsNotTouched(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root needs not unlock it")
	}
	top := t.TempDir()
	dir := filepath.Join(top, "shut")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	e := onDisk(t, dir, "shut")
	var before, after unix.Stat_t
	if err := unix.Stat(dir, &before); err != nil {
		t.Fatal(err)
	}
	p, err := Open(top, Options{}, move.NewReport(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Make(t.Context(), e), p.Finish(t.Context()), p.Close(), unix.Stat(dir, &after)); err != nil {
		t.Fatal(err)
	}
	if before.Ctim != after.Ctim {
		t.Error("ctime moved")
	}
}

// What cannot be mended is reported, and does not count as mended.
func TestWhatIsNotKeptIsNotMended(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	e := onDisk(t, file, "f")
	e.Xattrs = []move.Xattr{{Name: "unknown.a"}} // no file system has that
	for range 2 {
		r := move.NewReport(nil)
		p, err := Open(dir, Options{}, r)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = p.Begin(t.Context(), e)
		if err = errors.Join(err, p.Finish(t.Context()), p.Close()); err != nil {
			t.Fatal(err)
		}
		if lost, _, _ := r.Losses(); lost[move.LostXattr] != 1 || r.Summary().Mended != 0 {
			t.Errorf("%d mended, lost %v", r.Summary().Mended, lost)
		}
	}
}
