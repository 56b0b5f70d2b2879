package block

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// A file with holes is filled in its holes only, and what a workload would
// overwrite must have been a run's own.
func TestFillAndOwnership(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const size = 3*int64(unit.MiB) + 12288
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	s := spec()
	s.Path, s.Shape.Area, s.Shape.Read = path, 0, 0
	target, opened, err := Open(s, "")
	if err != nil {
		t.Fatalf("a file that was never written: %v", err)
	}
	holes, err := target.Holes(opened)
	if err != nil {
		t.Fatal(err)
	}
	if len(holes) == 0 {
		t.Skip("this file system does not tell holes")
	}
	precious := bytes.Repeat([]byte("precious"), 512)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(precious, int64(unit.MiB)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), target.Close()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(s, ""); !errors.Is(err, ErrNotOurs) {
		t.Fatalf("over somebody's data: %v", err)
	}
	s.Shape.Read = 1
	if target, opened, err = Open(s, ""); err != nil {
		t.Fatal(err)
	}
	if holes, err = target.Holes(opened); err != nil || len(holes) != 2 {
		t.Fatalf("holes %v, %v", holes, err)
	}
	if err := errors.Join(Fill(context.Background(), opened, holes), target.Close()); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || int64(len(b)) != size {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	for at := 0; at < len(b); at += sector {
		stamp, ok := ReadStamp(b[at:])
		switch {
		case at == int(unit.MiB):
			if !bytes.Equal(b[at:at+sector], precious) {
				t.Error("what lay between the holes was overwritten")
			}
		case !ok || stamp.Address != uint64(at):
			t.Fatalf("at %d: %+v, %v", at, stamp, ok)
		}
	}
}

// A run's own file may be written again, and --destroy allows any.
func TestOwnFileMayBeOverwritten(t *testing.T) {
	s := spec()
	s.Path = fileOf(t, unit.MiB)
	s.Shape.Pattern, s.Shape.Read, s.Shape.Area, s.Requests, s.Duration = shape.Once, 0, 0, 256, time.Minute
	if _, _, err := Open(s, ""); !errors.Is(err, ErrNotOurs) {
		t.Fatalf("zeroes that somebody wrote: %v", err)
	}
	for _, destroy := range []string{s.Path, ""} {
		target, opened, err := Open(s, destroy)
		if err != nil {
			t.Fatalf("destroy %q: %v", destroy, err)
		}
		if _, err := Run(context.Background(), opened, target); err != nil {
			t.Fatal(err)
		}
		if err := target.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
