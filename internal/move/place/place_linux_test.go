package place

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
	"linerate/internal/move/journal"
)

func openPlace(t *testing.T) (*Place, *move.Report, string) {
	t.Helper()
	dir, r := t.TempDir(), move.NewReport(nil)
	p, err := Open(dir, Options{Run: "test"}, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, r, dir
}

func small(path, content string) (*move.Entry, move.Block) {
	e := &move.Entry{Path: path, Kind: move.File, Mode: 0o644, UID: uint32(os.Geteuid()), GID: uint32(os.Getegid()), Size: int64(len(content)), Links: 1}
	x := []move.Extent{{Offset: 0, Length: e.Size}}
	return e, move.Block{Extents: x, Data: []byte(content), Hash: move.Sum(move.Fast, x, []byte(content))}
}

// What a source sends is refused where it leaves the target, or lies about its data.
func TestWhatIsReceivedIsNotTrusted(t *testing.T) {
	p, _, dir := openPlace(t)
	ctx := context.Background()
	for _, path := range []string{"../out", "/etc/x", "a/../../x", "a//b", ".", "x\x00y", ".linerate.journal"} {
		e, b := small(path, "content")
		if err := p.Put(ctx, e, b); err == nil {
			t.Errorf("%q was written", path)
		}
		if _, _, err := p.Begin(ctx, e); err == nil {
			t.Errorf("%q was begun", path)
		}
		if err := p.Make(ctx, &move.Entry{Path: path, Kind: move.Directory, Mode: 0o755}); err == nil {
			t.Errorf("%q was made", path)
		}
	}
	e, b := small("f", "content")
	b.Data = []byte("CONTENT")
	var corrupt *move.CorruptError
	if err := p.Put(ctx, e, b); !errors.As(err, &corrupt) {
		t.Errorf("wrong data: %v", err)
	}
	e, b = small("f", "content")
	e.Size = 3
	if err := p.Put(ctx, e, b); err == nil {
		t.Error("data past the end were taken")
	}
	if err := p.Make(ctx, &move.Entry{Path: "l", Kind: move.File, Linked: true, First: "../../etc/passwd"}); err == nil {
		t.Error("a link to outside was made")
	}
	if err := p.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 { // the journal, until Close
		t.Errorf("%v, %v", names, err)
	}
}

// A target of which it is said that it folds case: a name that is there under another
// spelling is not replaced. What such a target answers is played by a list of names that
// does not have the one that is there.
func TestOnATargetThatFoldsCaseAnotherSpellingIsNotReplaced(t *testing.T) {
	p, r, dir := openPlace(t)
	ctx := context.Background()
	d, err := p.dir("")
	if err != nil {
		t.Fatal(err)
	}
	defer p.release(d)
	d.folds, d.fresh = true, false
	e, b := small("readme", "first")
	if err := errors.Join(p.Put(ctx, e, b), p.flush(ctx)); err != nil {
		t.Fatal(err)
	}
	e, b = small("readme", "second")
	if err := errors.Join(p.Put(ctx, e, b), p.flush(ctx)); err != nil {
		t.Fatalf("the same spelling: %v", err)
	}
	d.names = map[string]bool{"README": true}
	e, b = small("readme", "third")
	var collision *CollisionError
	if err := p.Put(ctx, e, b); !errors.As(err, &collision) {
		t.Errorf("another spelling was replaced: %v", err)
	}
	if err := unix.Symlinkat("x", d.fd, "temp"); err != nil {
		t.Fatal(err)
	}
	if err := p.give(d, "temp", "readme"); !errors.As(err, &collision) {
		t.Errorf("another spelling was replaced: %v", err)
	}
	if got, _ := os.ReadFile(dir + "/readme"); string(got) != "second" {
		t.Errorf("%q", got)
	}
	if counts, _, _ := r.Losses(); len(counts) > 0 {
		t.Error(counts)
	}
}

// An entry that comes twice, while the first is being written, does not get hold of its
// temporary file.
func TestAnEntryThatComesTwiceAtOnceIsRefused(t *testing.T) {
	p, _, dir := openPlace(t)
	ctx := context.Background()
	e, b := small("f", "first")
	if err := p.Put(ctx, e, b); err != nil {
		t.Fatal(err)
	}
	other, c := small("f", "other")
	if err := p.Put(ctx, other, c); err == nil {
		t.Error("it was written twice at once")
	}
	if err := p.Make(ctx, &move.Entry{Path: "f", Kind: move.Symlink, Target: "x"}); err == nil {
		t.Error("it was written twice at once")
	}
	if err := p.Finish(ctx); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(dir + "/f"); string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	if len(p.temps) > 0 {
		t.Errorf("%v are still claimed", p.temps)
	}
}

func TestTempNames(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("n", 255), "\xff", ".hidden", "new\nline"} {
		temp := tempName(name, "run1", false)
		if len(temp) > 255 || !isTemp(temp, "run1") || isTemp(temp, "run2") || isTemp(name, "run1") || strings.Contains(temp, "/") {
			t.Errorf("%q becomes %q", name, temp)
		}
	}
	if tempName(strings.Repeat("n", 255), "r", false) == tempName(strings.Repeat("n", 254)+"m", "r", false) {
		t.Error("two names share a temporary one")
	}
	if a, b := tempName("README", "r", true), tempName("readme", "r", true); strings.EqualFold(a, b) || !isTemp(a, "r") {
		t.Errorf("on a target that folds case %q and %q are one", a, b)
	}
}

func TestSameTimeAllowsForWhatMountsKeep(t *testing.T) {
	want := move.Time{Sec: 5, Nsec: 123456789}
	for have, same := range map[unix.Timespec]bool{
		{Sec: 5, Nsec: 123456789}: true, {Sec: 5, Nsec: 123456700}: true, {Sec: 5, Nsec: 123456000}: true,
		{Sec: 5, Nsec: 123000000}: false, {Sec: 5}: false, {Sec: 4, Nsec: 123456789}: false, {Sec: 5, Nsec: 123456788}: false,
	} {
		if sameTime(have, want) != same {
			t.Errorf("%v: %v", have, !same)
		}
	}
}

// Of a target that held nothing no file is looked for before it is written; a target that holds anything
// else than the journal is asked, whatever an earlier run has left there.
func TestWhetherTheTargetHeldNothing(t *testing.T) {
	for holds, want := range map[string]bool{"": true, "f": false, tempName("f", "test", false): false, journal.Name: true} {
		dir := t.TempDir()
		if holds != "" {
			if err := os.WriteFile(filepath.Join(dir, holds), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := Open(dir, Options{Run: "test"}, move.NewReport(nil))
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.dir("")
		if err != nil {
			t.Fatal(err)
		}
		if d.fresh != want {
			t.Errorf("with %q: fresh is %v, want %v", holds, d.fresh, want)
		}
		p.release(d)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What comes into a target that held nothing while it is copied to is replaced by a file of its name, unless
// it is a directory that holds anything.
func TestWhatCameIntoAnEmptyTargetMeanwhile(t *testing.T) {
	dir, r := t.TempDir(), move.NewReport(nil)
	p, err := Open(dir, Options{Run: "test"}, r)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(filepath.Join(dir, "file"), []byte("theirs"), 0o600), os.MkdirAll(filepath.Join(dir, "full", "of"), 0o700))
	for _, name := range []string{"file", "full"} {
		e, b := small(name, "content")
		err = errors.Join(err, p.Put(t.Context(), e, b))
	}
	if err := errors.Join(err, p.Finish(t.Context()), p.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "full", "of")); err != nil {
		t.Error(err)
	}
	if counts, _, _ := r.Losses(); counts[move.Failed] != 1 {
		t.Error(counts)
	}
}
