package journal

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/move"
)

func example() (b []byte, open *File) {
	id := move.Identity{Node: move.Node{Dev: 1, Ino: 2}, Size: 3*move.BlockSize + 5, Mtime: move.Time{Sec: -5, Nsec: 6}, Ctime: move.Time{Sec: 7, Nsec: 8}}
	open = &File{Path: "a\n/\xff", Source: id, Temp: move.Node{Dev: 9, Ino: 10}, Full: true, Blocks: map[int64]Block{}}
	ended := &File{Path: "b", Source: id, Temp: move.Node{Ino: 11}, Blocks: map[int64]Block{}}
	b = Head("run1")
	b = AppendFile(b, 1, open)
	b = AppendFile(b, 2, ended)
	blocks := []Block{{Leaf: move.Leaf{Index: 0, Hash: move.Hash{1}}}, {Leaf: move.Leaf{Index: 3, Hash: move.Hash{2}}, Extents: []move.Extent{{Offset: 3 * move.BlockSize, Length: 5}}}}
	b = AppendBlocks(b, 1, blocks[:1])
	b = AppendBlocks(b, 2, blocks)
	b = AppendEnd(b, 2)
	b = AppendBlocks(b, 1, blocks[1:])
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

func flip(b []byte, at int) []byte {
	out := append([]byte{}, b...)
	out[at] ^= 0x40
	return out
}

func TestWhatIsNoJournalIsRefused(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("hello"), []byte(magic), Head("")[:12]} {
		if _, err := Read(b); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	b, _ := example()
	f.Add(b)
	f.Add(Head("r"))
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
