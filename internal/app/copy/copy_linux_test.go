package copy

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/lab/labtest"
	"linerate/internal/move"
	"linerate/internal/move/movetest"
)

// silent is an app.Progress that nobody watches.
type silent struct{ began time.Time }

func (silent) Say(string, ...any)   {}
func (silent) Detail(string)        {}
func (silent) Tick(string, string)  {}
func (silent) Live() bool           { return false }
func (silent) End()                 {}
func (s silent) Started() time.Time { return s.began }

// An interrupted copy says so by its kind and in its result, can be asked for again, and
// ends right then.
func TestAnInterruptedCopyCanBeAskedForAgain(t *testing.T) {
	e, src, dst := testEnv(t), t.TempDir(), filepath.Join(t.TempDir(), "new")
	movetest.Hostile(t, src)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	o := Options{Sources: []string{src + "/"}, Target: dst, MaxDelete: 1000}
	r, err := Copy(ctx, e, o, silent{time.Now()})
	if r == nil || r.State != "stopped" || r.Error != "interrupted" || failure.KindOf(err) != failure.Interrupted {
		t.Fatalf("%+v, %v", r, err)
	}
	again, err := Last(e)
	if err != nil {
		t.Fatal(err)
	}
	r, err = Copy(context.Background(), e, again, silent{time.Now()})
	if err != nil || r.State != "done" {
		t.Fatalf("%+v, %v", r, err)
	}
	movetest.Same(t, src, dst)
	if _, err := Last(e); failure.KindOf(err) != failure.Nothing {
		t.Errorf("a copy that is done: %v", err)
	}
	for name, look := range map[string]func(context.Context, app.Env, Options, app.Progress) (*Result, error){"check": Check, "dry run": DryRun} {
		if _, err := look(ctx, e, again, silent{time.Now()}); err == nil || !strings.Contains(err.Error(), "nothing was changed") {
			t.Errorf("an interrupted %s: %v", name, err)
		}
	}
	r, err = Check(context.Background(), e, again, silent{time.Now()})
	if err != nil || r.State != "same" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A copy whose note cannot be written is made, and says that it is not noted.
func TestACopyThatCannotBeNotedIsMade(t *testing.T) {
	src, dst, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "file")
	movetest.Write(t, src+"/x", "1")
	movetest.Write(t, file, "in the way of the data directory")
	e := testEnv(t)
	e.Getenv = func(string) string { return file }
	r, err := Copy(context.Background(), e, Options{Sources: []string{src + "/"}, Target: dst}, silent{time.Now()})
	if err != nil || r.State != "done" || len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0], "not noted") {
		t.Errorf("%+v, %v", r, err)
	}
	movetest.Same(t, src, dst)
}

// The note of the last copy is read within bounds, whatever has its name.
func TestANoteWithoutEndIsNotReadWhole(t *testing.T) {
	for said, put := range map[string]func(path string) error{
		"no plain file": func(path string) error { return os.Symlink("/dev/zero", path) },
		"more than": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, 1<<40))
		},
	} {
		e := testEnv(t)
		path, err := notePath(e)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), put(path)); err != nil {
			t.Fatal(err)
		}
		if _, err := Last(e); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%v, want %s", err, said)
		}
	}
}

// A dry run changes nothing, and says what the copy then does.
func TestTheDryRunsPlanIsWhatIsDone(t *testing.T) {
	e, src, dst := testEnv(t), t.TempDir(), t.TempDir()
	movetest.Hostile(t, src)
	movetest.Write(t, dst+"/plain", "older")
	movetest.Write(t, dst+"/gone/x", "not in the source")
	movetest.Write(t, dst+"/new\nlines", "not in the source")
	before := movetest.Describe(t, dst)
	o := Options{Sources: []string{src + "/"}, Target: dst, Delete: true, MaxDelete: 3}
	plan, err := DryRun(context.Background(), e, o, silent{time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	movetest.Equal(t, before, movetest.Describe(t, dst))
	done, err := Copy(context.Background(), e, o, silent{time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	movetest.Same(t, src, dst)
	do := map[string]int64{}
	for _, s := range plan.Plan {
		do[s.Do]++
	}
	m := done.Moved
	made := m.Files + m.Symlinks + m.HardLinks + m.Specials
	if do["delete"] != m.Deleted || m.Deleted != 3 || do["replace"] < 1 || plan.Moved.Files != m.Files || do["new"]+do["replace"] < made {
		t.Errorf("planned %v, %+v; done %+v", do, plan.Moved, m)
	}
}

// What --exclude leaves out of a copy, --delete leaves alone, also where the source lacks the
// directory around it, and a directory stays with what stays in it.
func TestWhatIsLeftOutIsNotDeleted(t *testing.T) {
	e, src, dst := testEnv(t), t.TempDir(), t.TempDir()
	movetest.Write(t, src+"/cache/source", "1")
	stays := []string{"cache/own", "cache/deep/own", "logs/own", "gone/part/a.tmp", "b.tmp"}
	goes := []string{"gone/other/x", "gone/part/x", "gone/y", "z"}
	for _, path := range slices.Concat(stays, goes) {
		movetest.Write(t, dst+"/"+path, "1")
	}
	goes = slices.Insert(goes, 0, "gone/other")
	o := Options{Sources: []string{src + "/"}, Target: dst, Delete: true, MaxDelete: len(goes), Exclude: []string{"/cache/", "logs", "*.tmp"}}
	plan, err := DryRun(context.Background(), e, o, silent{time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	var planned []string
	for _, s := range plan.Plan {
		planned = append(planned, s.Path)
	}
	slices.Sort(planned)
	slices.Sort(goes)
	if !slices.Equal(planned, goes) {
		t.Errorf("to be deleted: %q, want %q", planned, goes)
	}
	done, err := Copy(context.Background(), e, o, silent{time.Now()})
	if err != nil || done.Moved.Deleted != int64(len(goes)) {
		t.Errorf("%+v, %v", done.Moved, err)
	}
	for _, path := range stays {
		if _, err := os.Stat(dst + "/" + path); err != nil {
			t.Error(err)
		}
	}
}

// --delete never deletes what is copied, and says so beforehand.
func TestASourceWithinItsTargetIsNotDeleted(t *testing.T) {
	e, dst := testEnv(t), t.TempDir()
	movetest.Write(t, dst+"/in/x", "1")
	movetest.Write(t, dst+"/other", "2")
	o := Options{Sources: []string{dst + "/in/"}, Target: dst, Delete: true, MaxDelete: 9}
	for name, work := range map[string]func(context.Context, app.Env, Options, app.Progress) (*Result, error){"dry run": DryRun, "copy": Copy} {
		if _, err := work(context.Background(), e, o, silent{time.Now()}); failure.KindOf(err) != failure.Usage {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, path := range []string{"in/x", "other"} {
		if _, err := os.Stat(dst + "/" + path); err != nil {
			t.Error(err)
		}
	}
	o.Exclude = []string{"/in/"} // which leaves the source alone
	if r, err := Copy(context.Background(), e, o, silent{time.Now()}); err != nil || r.Moved.Deleted != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(dst + "/in/x"); err != nil {
		t.Error(err)
	}
}

// Nor where something in the source would stay, or the source has an entry of its own name: nothing is
// copied either.
func TestASourceWithinItsTargetIsNotDeletedInPart(t *testing.T) {
	e := testEnv(t)
	for name, exclude := range map[string][]string{"x.tmp": {"*.tmp"}, "in/x": nil} {
		dst := t.TempDir()
		paths := []string{"a/in/" + name, "a/in/f", "other"}
		in := "/a/in"
		if exclude == nil {
			paths, in = []string{"in/" + name, "in/f", "other"}, "/in"
		}
		for _, path := range paths {
			movetest.Write(t, dst+"/"+path, "1")
		}
		o := Options{Sources: []string{dst + in + "/"}, Target: dst, Delete: true, MaxDelete: 9, Exclude: exclude}
		_, err := Copy(context.Background(), e, o, silent{time.Now()})
		if failure.KindOf(err) != failure.Usage {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dst + "/f"); err == nil {
			t.Errorf("%s: refused after it was copied", name)
		}
		for _, path := range paths[:2] {
			if _, err := os.Stat(dst + "/" + path); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What a directory holds that is in a file's way is left to the user, as the failure of the file says.
func TestADirectoryInAFilesWayIsNotEmptied(t *testing.T) {
	e, src, dst := testEnv(t), t.TempDir(), t.TempDir()
	movetest.Write(t, src+"/x", "file")
	movetest.Write(t, src+"/first", "two names")
	if err := os.Link(src+"/first", src+"/second"); err != nil {
		t.Fatal(err)
	}
	movetest.Write(t, dst+"/x/y/kept", "1")
	movetest.Write(t, dst+"/second/kept", "1")
	movetest.Write(t, dst+"/other", "2")
	o := Options{Sources: []string{src + "/"}, Target: dst, Delete: true, MaxDelete: 9}
	for name, work := range map[string]func(context.Context, app.Env, Options, app.Progress) (*Result, error){"dry run": DryRun, "copy": Copy} {
		r, err := work(context.Background(), e, o, silent{time.Now()})
		if failure.KindOf(err) != failure.Lossy || r.Lost[move.Failed] != 2 || r.Moved.Deleted > 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	for _, path := range []string{"x/y/kept", "second/kept"} {
		if _, err := os.Stat(dst + "/" + path); err != nil {
			t.Error(err)
		}
	}
}

// A directory that comes for a file or a link is made before what it holds: a plan knows that.
func TestThePlanOfADirectoryInPlaceOfAnotherEntry(t *testing.T) {
	for name, make := range map[string]func(string) error{
		"file": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"link": func(path string) error { return os.Symlink("..", path) },
	} {
		e, src, dst := testEnv(t), t.TempDir(), t.TempDir()
		movetest.Write(t, src+"/d/x/f", "1")
		if err := make(dst + "/d"); err != nil {
			t.Fatal(err)
		}
		o := Options{Sources: []string{src + "/d"}, Target: dst, Delete: true, MaxDelete: 9}
		plan, err := DryRun(context.Background(), e, o, silent{time.Now()})
		if err != nil || plan.Moved.Files != 1 || plan.Moved.Directories != 2 {
			t.Errorf("%s: %+v, %v", name, plan, err)
		}
		if r, err := Copy(context.Background(), e, o, silent{time.Now()}); err != nil || r.Moved.Files != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestNothingIsDeletedAfterAnUnreadableEntry(t *testing.T) {
	if !labtest.Ordinary(t) { // root reads everything
		return
	}
	e, src, dst := testEnv(t), t.TempDir(), t.TempDir()
	movetest.Write(t, src+"/shut/x", "1")
	movetest.Write(t, dst+"/extra", "kept")
	if err := os.Chmod(src+"/shut", 0); err != nil {
		t.Fatal(err)
	}
	r, err := Copy(context.Background(), e, Options{Sources: []string{src + "/"}, Target: dst, Delete: true, MaxDelete: 9}, silent{time.Now()})
	if cerr := os.Chmod(src+"/shut", 0o700); cerr != nil {
		t.Fatal(cerr)
	}
	if failure.KindOf(err) != failure.Lossy || r.Lost[move.Failed] < 1 || r.Moved.Deleted != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(dst + "/extra"); err != nil {
		t.Error(err)
	}
}

// What of a target cannot be listed is named.
func TestADirectoryThatCannotBeListedIsNamed(t *testing.T) {
	if !labtest.Ordinary(t) { // root reads everything
		return
	}
	e, src, dst := testEnv(t), t.TempDir(), t.TempDir()
	for name, mode := range map[string]os.FileMode{"unread": 0o300, "unsearched": 0o600} {
		movetest.Write(t, dst+"/"+name+"/x", "1")
		if err := os.Chmod(dst+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Check(context.Background(), e, Options{Sources: []string{src + "/"}, Target: dst}, silent{time.Now()})
		if cerr := os.Chmod(dst+"/"+name, 0o700); cerr != nil {
			t.Fatal(cerr)
		}
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What was not proven in this run is said.
func TestWhatWasNotReadIsSaid(t *testing.T) {
	for _, c := range []struct {
		o    Options
		m    move.Summary
		want string
	}{
		{Options{}, move.Summary{Resumed: 4 << 20}, "of 4 MiB that an earlier run had written a sample was read again"},
		{Options{Full: true}, move.Summary{Resumed: 4 << 20}, "past this host's cache"},
		{Options{}, move.Summary{Same: 1}, "1 file of the same size and time not read (--check compares them)"},
	} {
		if got := c.o.verified(c.m); !strings.HasSuffix(got, c.want) {
			t.Errorf("%+v: %s", c.m, got)
		}
	}
}

func TestRemoteNamesAreToldFromPaths(t *testing.T) {
	for arg, want := range map[string]bool{"nas1:/pool": true, "user@nas1:x": true, "lab:client1:/x": true, "./a:b": false, "/a:b": false, "a/b:c": false, ":x": false, "plain": false} {
		if _, _, got := remote(arg); got != want {
			t.Errorf("%q: %v", arg, got)
		}
	}
	if _, err := routeOf([]string{"nas1:/x"}, "/tmp"); err == nil || !strings.Contains(err.Error(), "nas1") {
		t.Error(err)
	}
}
