package tree

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/move"
)

func TestFilesAreOpenedAheadOnDisksOfThisHostAlone(t *testing.T) {
	dir, want := t.TempDir(), bytes.Repeat([]byte("data"), 4096)
	if err := os.WriteFile(filepath.Join(dir, "file"), want, 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !kernel.OnDisk(int(d.Fd())) {
		t.Skipf("%s is on a file system that is not known to be of a disk", dir)
	}
	s, r := open(t, Options{}, Top{Dir: dir})
	if !s.ahead {
		t.Skip("this process may have few files open")
	}
	_, all := entries(t, s)
	e := all["file"]
	f := s.OpenAhead(context.Background(), e)
	if f == nil {
		t.Fatal("a file on a disk was not opened ahead")
	}
	b, err := f.Read(context.Background(), 0, make([]byte, move.PackSize))
	if err != nil || !bytes.Equal(b.Data, want) || f.Changed() != nil || f.Close() != nil {
		t.Errorf("%d bytes, %v; want what was written", len(b.Data), err)
	}
	if f := s.OpenAhead(context.Background(), &move.Entry{Path: "gone", Kind: move.File, Node: e.Node}); f != nil {
		t.Error("a file that is not there was opened")
	}
	s.near.Store(e.Node.Dev, false) // as if a server had it
	if f := s.OpenAhead(context.Background(), e); f != nil {
		t.Error("a file of a mount was opened ahead of its turn")
	}
	s.near.Store(e.Node.Dev, true)
	s.ahead = false // as if few files may be open
	if f := s.OpenAhead(context.Background(), e); f != nil {
		t.Error("a file was opened ahead where few may be open")
	}
	if n, _, _ := r.Losses(); len(n) > 0 {
		t.Errorf("losses %v, want none: who opens a file in its turn names them", n)
	}
}
