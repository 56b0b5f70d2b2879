package move

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestCheckPathRefusesWhatLeavesTheRoot(t *testing.T) {
	for path, ok := range map[string]bool{
		"": true, "a": true, "a/b": true, "..a/b..": true, "-rf": true, "new\nline": true, "\xff\xfe": true,
		strings.Repeat("x", 255): true, strings.Repeat("x", 256): false, "/etc": false, "a//b": false, "a/": false,
		"..": false, "a/../b": false, ".": false, "a/./b": false, "a\x00b": false, "a/..": false,
	} {
		if err := CheckPath(path); (err == nil) != ok {
			t.Errorf("CheckPath(%q) = %v, want ok %v", path, err, ok)
		}
	}
}

func TestABlockIsRefusedUnlessItsBoundsAndHashAreRight(t *testing.T) {
	data := []byte("0123456789abcdef")
	size := int64(BlockSize + 100)
	good := Block{Index: 1, Extents: []Extent{{BlockSize, 10}, {BlockSize + 20, 6}}, Data: data}
	for _, v := range []Verify{Fast, Full} {
		good.Seal(v)
		if err := good.Check(v, size); err != nil {
			t.Fatal(err)
		}
		for name, spoil := range map[string]func(*Block){
			"index below zero":   func(b *Block) { b.Index = -1 },
			"index past the end": func(b *Block) { b.Index = 2 },
			"no extents":         func(b *Block) { b.Extents, b.Data = nil, nil },
			"extent before":      func(b *Block) { b.Extents[0].Offset = 0 },
			"extent past size":   func(b *Block) { b.Extents[1].Offset = size - 3 },
			"overlap":            func(b *Block) { b.Extents[1].Offset = BlockSize + 9 },
			"huge length":        func(b *Block) { b.Extents[1].Length = 1<<63 - 1 },
			"short data":         func(b *Block) { b.Data = b.Data[:15] },
			"flipped bit":        func(b *Block) { b.Data[3] ^= 1 },
			"moved data":         func(b *Block) { b.Extents[1].Offset++ },
		} {
			b := good
			b.Extents, b.Data = slices.Clone(good.Extents), slices.Clone(good.Data)
			spoil(&b)
			if b.Check(v, size) == nil {
				t.Errorf("%s was accepted", name)
			}
		}
		b := good
		b.Hash[0] ^= 1
		if v == Full {
			b = good
			b.Quick[0] ^= 1
		}
		var corrupt *CorruptError
		if err := b.Check(v, size); !errors.As(err, &corrupt) || corrupt.Index != 1 {
			t.Errorf("a wrong hash gives %v", err)
		}
	}
}

func TestRootDependsOnSizeOrderAndLeaves(t *testing.T) {
	a, b := Leaf{0, Hash{1}}, Leaf{1, Hash{2}}
	seen := map[Hash]string{}
	for name, h := range map[string]Hash{
		"both": Root(9, slices.Values([]Leaf{a, b})), "swapped": Root(9, slices.Values([]Leaf{b, a})),
		"size": Root(8, slices.Values([]Leaf{a, b})), "one": Root(9, slices.Values([]Leaf{a})), "none": Root(9, slices.Values([]Leaf(nil))),
		"index": Root(9, slices.Values([]Leaf{a, {2, b.Hash}})),
	} {
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have one root", name, other)
		}
		seen[h] = name
	}
}

func TestLossesAreCountedAndNamed(t *testing.T) {
	var all []Loss
	r := NewReport(func(l Loss) error { all = append(all, l); return nil })
	for range keptLosses + 5 {
		r.Lose(LostOwner, "a\nb", "chown: %v", errors.New("no"))
	}
	r.Lose(Failed, "", "gone")
	counts, first, err := r.Losses()
	if err != nil || counts[LostOwner] != keptLosses+5 || counts[Failed] != 1 || len(first) != keptLosses || len(all) != keptLosses+6 {
		t.Fatal(counts, len(first), len(all), err)
	}
	if first[1].Name != `"a\nb"` || first[1].Path != "a\nb" || all[keptLosses+5].Name != "." {
		t.Errorf("%+v", first[1])
	}
}

// One file that failed is not hidden by many that lack something.
func TestWhatFailedIsNamedFirst(t *testing.T) {
	r := NewReport(nil)
	for range keptLosses + 1 {
		r.Lose(LostOwner, "kept", "")
	}
	r.Lose(Failed, "gone", "")
	counts, first, err := r.Losses()
	if err != nil || len(first) != keptLosses || first[0].What != Failed || first[1].What != LostOwner || counts[LostOwner] != keptLosses+1 {
		t.Errorf("%v, %d named, the first %+v, %v", counts, len(first), first[0], err)
	}
}
