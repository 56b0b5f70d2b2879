package journal

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/move"
)

func example() (out []byte, open *File) {
	id := move.Identity{Node: move.Node{Dev: 1, Ino: 2}, Size: 3*move.BlockSize + 5, Mtime: move.Time{Sec: -5, Nsec: 6}, Ctime: move.Time{Sec: 7, Nsec: 8}}
	open = &File{Path: "a\n/\xff", Source: id, Temp: move.Node{Dev: 9, Ino: 10}, Full: true, Blocks: map[int64]Block{}}
	ended := &File{Path: "b", Source: id, Temp: move.Node{Ino: 11}, Blocks: map[int64]Block{}}
	l, b := NewLog("run1", [8]byte{1, 2})
	b = l.AppendFile(b, 1, open)
	b = l.AppendFile(b, 2, ended)
	blocks := []Block{{Leaf: move.Leaf{Index: 0, Hash: move.Hash{1}}}, {Leaf: move.Leaf{Index: 3, Hash: move.Hash{2}}, Extents: []move.Extent{{Offset: 3 * move.BlockSize, Length: 5}}}}
	b = l.AppendBlocks(b, 1, blocks[:1])
	b = l.AppendBlocks(b, 2, blocks)
	b = l.AppendEnd(b, 2)
	b = l.AppendBlocks(b, 1, blocks[1:])
	for _, x := range blocks {
		open.Blocks[x.Leaf.Index] = x
	}
	return b, open
}

func TestAJournalSaysWhatIsDurable(t *testing.T) {
	b, open := example()
	j, err := Read(b)
	if err != nil || j.Run != "run1" || j.Good != int64(len(b)) {
		t.Fatalf("%+v, %v", j, err)
	}
	if d := cmp.Diff(map[string]*File{open.Path: open}, j.Files); d != "" {
		t.Error(d)
	}
}

// A file may end while an append that tells of it waits for others: they are told of all the same.
func TestWhatFollowsBlocksOfAnEndedFileIsRead(t *testing.T) {
	b, open := example()
	l, b2 := &Log{[8]byte{1, 2}}, b[:len(b):len(b)]
	late := []Block{{Leaf: move.Leaf{Index: 1, Hash: move.Hash{3}}}}
	b2 = l.AppendBlocks(b2, 2, late)
	b2 = l.AppendBlocks(b2, 1, late)
	open.Blocks[1] = late[0]
	j, err := Read(b2)
	if err != nil || j.Good != int64(len(b2)) {
		t.Fatalf("%d of %d bytes were read, %v", j.Good, len(b2), err)
	}
	if d := cmp.Diff(map[string]*File{open.Path: open}, j.Files); d != "" {
		t.Error(d)
	}
}

// A journal that is cut or damaged anywhere says less, never something else.
func TestADamagedJournalSaysLess(t *testing.T) {
	b, open := example()
	for n := range b {
		for name, damaged := range map[string][]byte{"cut": b[:n], "flipped": flip(b, n)} {
			j, err := Read(damaged)
			if err != nil {
				if !errors.Is(err, ErrForeign) {
					t.Fatal(err)
				}
				continue
			}
			if j.Good > int64(n) {
				t.Errorf("%s at %d: %d bytes are said to be good", name, n, j.Good)
			}
			for _, f := range j.Files {
				for i, x := range f.Blocks {
					if f.Path == open.Path && cmp.Diff(open.Blocks[i], x) != "" {
						t.Errorf("%s at %d: another block", name, n)
					}
				}
			}
		}
	}
}

func head(run string) []byte {
	_, b := NewLog(run, [8]byte{9})
	return b
}

// What an older journal left behind a shorter new one in the same file is not of the new one.
func TestWhatAnOlderJournalLeftIsNotTaken(t *testing.T) {
	old, open := example()
	l, b := NewLog("run1", [8]byte{7})
	b = l.AppendFile(b, 1, &File{Path: "other", Source: open.Source, Temp: open.Temp})
	for at := 0; at < len(old); at++ {
		j, err := Read(append(append([]byte{}, b...), old[at:]...))
		if err != nil || len(j.Files) != 1 || len(j.Files["other"].Blocks) != 0 {
			t.Fatalf("at %d: %+v, %v", at, j, err)
		}
	}
}

func flip(b []byte, at int) []byte {
	out := append([]byte{}, b...)
	out[at] ^= 0x40
	return out
}

func TestWhatIsNoJournalIsRefused(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("hello"), []byte(magic), head("")[:12], head("")} {
		if _, err := Read(b); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	b, _ := example()
	f.Add(b)
	f.Add(head("r"))
	f.Fuzz(func(t *testing.T, b []byte) {
		j, err := Read(b)
		if err != nil {
			return
		}
		for _, x := range j.Files {
			if move.CheckPath(x.Path) != nil {
				t.Errorf("%q leaves the root", x.Path)
			}
			for i, y := range x.Blocks {
				if i != y.Leaf.Index || i >= move.Blocks(x.Source.Size) {
					t.Errorf("block %d of %d bytes", i, x.Source.Size)
				}
			}
		}
	})
}
