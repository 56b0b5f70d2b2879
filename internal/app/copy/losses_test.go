package copy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/app"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/store"
)

func testEnv(t *testing.T) app.Env {
	home := t.TempDir()
	return app.Env{Build: "test", Now: time.Now, Getenv: func(key string) string {
		if key == "XDG_DATA_HOME" {
			return home
		}
		return ""
	}}
}

// A bundle names every loss, in its results or in a file of its own; what memory keeps of them does not
// grow with their number.
func TestEveryLossIsInTheBundle(t *testing.T) {
	for _, n := range []int{0, 3, 2000, 2001, 30000} {
		e := testEnv(t)
		r := &Result{State: "lossy"}
		rep := r.losing()
		for i := range n {
			rep.Lose(move.LostOwner, fmt.Sprintf("d/%d\xff", i), "0 instead of 5")
		}
		r.Lost, r.Losses, _ = rep.Losses()
		r.settleNames(int64(n))
		want := 0
		if n > 2000 {
			want = n
		}
		if len(r.Losses) != min(n, 2000) || r.Lost[move.LostOwner] != int64(n) || r.LossesNamed != int64(want) || r.LeftOut != int64(n-len(r.Losses)) || len(r.Warnings) > 0 {
			t.Errorf("%d losses: %d in the results, %d counted, %d named in the file, %d left out, %q", n, len(r.Losses), r.Lost[move.LostOwner], r.LossesNamed, r.LeftOut, r.Warnings)
		}
		if err := r.Keep(e, time.Unix(1e9, 0), "copy", "text"); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(filepath.Dir(r.Report)); err != nil {
			t.Error(err)
		}
		if got := lossesOf(t, filepath.Dir(r.Report)); len(got) != want || want > 0 && !strings.Contains(got[want-1], fmt.Sprintf(`"path":"\"d/%d\\xff\""`, n-1)) {
			t.Errorf("%d losses: %d lines, the last %q", n, len(got), got[max(0, len(got)-1):])
		}
	}
}

// lossesOf are the lines of a bundle's losses.
func lossesOf(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, store.LossesName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if b, err = z.DecodeAll(b, nil); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// What cannot be named is counted all the same, and a warning says why.
func TestLossesThatCannotBeNamedAreCounted(t *testing.T) {
	r := &Result{State: "lossy"}
	rep := r.losing()
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	for range 2500 {
		rep.Lose(move.LostMode, "f", "")
	}
	r.Lost, r.Losses, _ = rep.Losses()
	r.settleNames(2500)
	if r.Lost[move.LostMode] != 2500 || r.LossesNamed != 0 || len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "of 2500 losses 500 are named nowhere, only counted: ") {
		t.Errorf("%+v, %d, %q", r.Lost, r.LossesNamed, r.Warnings)
	}
}

// Lines are read as they were added, also where they were read in between.
func TestLinesComeBack(t *testing.T) {
	var l lines[int]
	defer l.close()
	want := 0
	for range 3 {
		for range 1000 {
			l.add(want)
			want++
		}
		got := 0
		if err := l.each(func(n int) {
			if n != got {
				t.Fatalf("line %d is %d", got, n)
			}
			got++
		}); err != nil || got != want || l.n != int64(want) {
			t.Fatalf("%d of %d lines, %v", got, want, err)
		}
	}
	if err := l.close(); err != nil || l.n != 0 {
		t.Error(l.n, err)
	}
	var b bytes.Buffer
	if err := errors.Join(l.each(func(int) { t.Error("a line of none") }), l.copyTo(&b)); err != nil || b.Len() > 0 {
		t.Error(b.Len(), err)
	}
	l.size = mostLines + 1
	if l.add(1) || l.add(2) || l.n != 0 || l.out != 2 || !errors.Is(l.err, errManyLines) {
		t.Errorf("%d lines, %d not, %v", l.n, l.out, l.err)
	}
}

// What several ends or rounds tell of is one loss, however few are told apart at once.
func TestALossIsFoundOnce(t *testing.T) {
	for _, atOnce := range []int64{7, 1 << 20} {
		var f found
		for range 3 {
			for i := range 50 {
				f.add(mover.Loss{What: move.LostOwner, Path: []byte(fmt.Sprint(i)), Detail: "d"})
				f.add(mover.Loss{What: move.LostMode, Path: []byte(fmt.Sprint(i))})
			}
		}
		got := map[string]int{}
		if err := f.unique(atOnce, func(l mover.Loss) { got[l.What+string(l.Path)]++ }); err != nil {
			t.Fatal(err)
		}
		for what, n := range got {
			if n != 1 {
				t.Errorf("%d at once: %s %d times", atOnce, what, n)
			}
		}
		if len(got) != 100 {
			t.Errorf("%d at once: %d losses, want 100", atOnce, len(got))
		}
		if err := f.close(); err != nil {
			t.Error(err)
		}
	}
}

// Of files that failed those of the last round count; of all else those of all rounds, once each.
func TestASpreadCountsLossesOfItsRounds(t *testing.T) {
	s := &spreading{do: mover.Copying, out: &Result{}}
	s.report = s.out.losing()
	tell := func(what string, paths ...string) {
		for _, p := range paths {
			s.lost(nil, mover.Loss{What: what, Path: []byte(p)})
		}
	}
	tell(move.Failed, "a", "b", "c")
	tell(move.LostOwner, "x", "y")
	if err := s.failed.close(); err != nil { // the next round
		t.Fatal(err)
	}
	tell(move.Failed, "c")
	tell(move.LostOwner, "y", "z", "x")
	if err := s.settle(); err != nil {
		t.Fatal(err)
	}
	counts, named, _ := s.report.Losses()
	if counts[move.Failed] != 1 || counts[move.LostOwner] != 3 || len(named) != 4 || named[0].Path != "c" {
		t.Errorf("%v, %+v", counts, named)
	}
}
