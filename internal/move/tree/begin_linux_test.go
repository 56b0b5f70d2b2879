package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// many makes a tree with more entries than a scan finds before it is asked, and further names.
func many(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for d := range 3 {
		in := filepath.Join(dir, fmt.Sprint("d", d))
		if err := os.Mkdir(in, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range begunEntries {
			if err := unix.Mkfifo(filepath.Join(in, fmt.Sprint("p", i)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(in, "file"), []byte("data"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Link(filepath.Join(in, "file"), filepath.Join(in, "more")); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// scanned are all entries in their order.
func scanned(t *testing.T, s *Tree) (all []move.Entry) {
	t.Helper()
	if err := s.Scan(t.Context(), func(e *move.Entry) error { all = append(all, *e); return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}

// A scan that nobody asks for stops at its bound, and ends with the tree or with who takes it.
func TestAScanThatWasBegun(t *testing.T) {
	dir := many(t)
	plain, _ := open(t, Options{}, Top{Dir: dir})
	want := scanned(t, plain)
	s, r := open(t, Options{}, Top{Dir: dir})
	s.begin(1)
	if got := scanned(t, s); !reflect.DeepEqual(got, want) {
		t.Errorf("%d entries, want the same %d", len(got), len(want))
	}
	if n, _, _ := r.Losses(); len(n) > 0 {
		t.Errorf("losses %v, want none", n)
	}
	if again := scanned(t, s); len(again) != len(want) {
		t.Errorf("%d entries the second time, want %d", len(again), len(want))
	}
	endsWithItsCaller(t, dir)
}

func endsWithItsCaller(t *testing.T, dir string) {
	t.Helper()
	s, _ := open(t, Options{}, Top{Dir: dir})
	s.begin(1) // nobody asks: it stops at its bound, and close ends it
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s, _ = open(t, Options{}, Top{Dir: dir})
	s.begin(1)
	enough := errors.New("enough")
	if err := s.Scan(t.Context(), func(*move.Entry) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v, want the caller's error", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	s, _ = open(t, Options{}, Top{Dir: dir})
	s.begin(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Scan(ctx, func(*move.Entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

// Little else leaves the cache of a host for what is read ahead.
func TestWhatIsReadAheadKeepsToAPartOfTheMemory(t *testing.T) {
	for gib, want := range map[uint64]int64{0: 0, 2: 32 << 20, 16: 256 << 20, 512: 256 << 20} {
		if got := mayBegin(gib << 30); got != want {
			t.Errorf("%d GiB: %d bytes, want %d", gib, got, want)
		}
	}
	if memory() == 0 {
		t.Error("this host does not tell what memory it has")
	}
}
