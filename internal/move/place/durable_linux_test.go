package place

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

func TestWhereSyncfsTellsOfWhatWasLost(t *testing.T) {
	const ext4 = 0xef53
	for _, c := range []struct {
		release string
		fsType  int64
		want    bool
	}{
		{"6.1.0-18-amd64", ext4, true},
		{"5.8.0", ext4, true},
		{"5.7.19", ext4, false},
		{"4.18.0-553.el8_10.x86_64", ext4, false},
		{"6.1.0", fuse, false},
		{"6.1.0", v9fs, false},
		{"unknown", ext4, false},
	} {
		if got := tellsLosses(c.release, c.fsType); got != c.want {
			t.Errorf("%s, %x: %v", c.release, c.fsType, got)
		}
	}
}

// A kernel tells once of what it could not write: a file system of which it did is not asked again, and
// what is called durable later is not believed.
func TestWhatAFileSystemLostStaysLost(t *testing.T) {
	fd, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	s := &fileSystem{first: &dir{fd: fd}}
	if err := s.sync(); err != nil {
		t.Fatal(err)
	}
	s.first.fd = -1 // syncfs fails
	if err := s.sync(); !errors.Is(err, move.ErrSink) {
		t.Errorf("a syncfs that fails: %v", err)
	}
	s.first.fd = fd
	if err := s.sync(); !errors.Is(err, move.ErrSink) {
		t.Errorf("the next one, which does not: %v", err)
	}
}

// The same of a file, by fsync. Some errors cost their files alone, one more ends the copy.
func TestWhatAFileLostStaysLost(t *testing.T) {
	p := &Place{}
	for i := range badPlaces + 1 {
		f := &file{p: p}
		err := f.sync(func(int) error { return unix.EIO })
		if !errors.Is(err, unix.EIO) || errors.Is(err, move.ErrSink) != (i == badPlaces) {
			t.Errorf("error %d: %v", i+1, err)
		}
		asked := false
		err = f.sync(func(int) error { asked = true; return nil })
		if !errors.Is(err, unix.EIO) || asked {
			t.Errorf("after error %d: %v, asked again: %v", i+1, err, asked)
		}
	}
	if err := (&file{p: p}).sync(func(int) error { return unix.ENOSPC }); !errors.Is(err, move.ErrSink) {
		t.Errorf("a full disk: %v", err)
	}
}
