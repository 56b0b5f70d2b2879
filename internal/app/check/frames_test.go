package check

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/failure"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/systems"
	"linerate/internal/systems/frame"
)

const framesOfTests = "../../systems/testdata/"

func TestRecordingsOfOtherSystemsAreRead(t *testing.T) {
	for _, s := range systems.All() {
		file := framesOfTests + s.Name() + "-fake.frames"
		l, err := recordedFacts(t.Context(), Options{From: file})
		if err != nil || l.last.OS != s.Name() || len(l.last.Settings) == 0 || l.last.Host != s.Name()+"-fake" {
			t.Errorf("%s: %v, %+v", file, err, l.last)
			continue
		}
		b, err := os.ReadFile(file)
		dir := t.TempDir()
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, s.Name()+"-host.frames"), b, 0o600)); err != nil {
			t.Fatal(err)
		}
		in, err := recordedFacts(t.Context(), Options{From: dir})
		if err != nil || len(in.last.Settings) != len(l.last.Settings) {
			t.Errorf("a folder with %s: %v", file, err)
		}
		packed := filepath.Join(t.TempDir(), "box"+snapshot.ArchiveExt)
		if _, err := snapshot.WriteArchive(packed, []snapshot.File{{Name: s.Name() + "-host.frames", Data: b}}); err != nil {
			t.Fatal(err)
		}
		in, err = recordedFacts(t.Context(), Options{From: packed})
		if err != nil || len(in.last.Settings) != len(l.last.Settings) {
			t.Errorf("an archive with %s: %v", file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, s.Name()+"-host.frames"), b[:len(b)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := recordedFacts(t.Context(), Options{From: dir}); !errors.Is(err, frame.ErrCut) {
			t.Errorf("half of %s: %v", file, err)
		}
	}
}

func TestRecordingsThatAreNotRead(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"freebsd-a.frames", "macos-b.frames", "plan9-c.frames"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(framesOfTests+"freebsd-fake.frames", filepath.Join(dir, "freebsd-link.frames")); err != nil {
		t.Skipf("links: %v", err)
	}
	for from, want := range map[string]string{dir: "name one of them", dir + "/plan9-c.frames": "freebsd-NAME.frames"} {
		if _, err := recordedFacts(t.Context(), Options{From: from}); failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", from, err)
		}
	}
	if _, err := recordedFacts(t.Context(), Options{From: dir + "/freebsd-link.frames"}); !errors.Is(err, snapshot.ErrDamaged) {
		t.Errorf("a link: %v", err)
	}
	if _, err := recordedFacts(t.Context(), Options{From: dir + "/freebsd-a.frames"}); !errors.Is(err, frame.ErrCut) {
		t.Errorf("an empty file: %v", err)
	}
}
