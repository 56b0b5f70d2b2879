package carried

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

func TestAProgramIsWhatWasPacked(t *testing.T) {
	want := bytes.Repeat([]byte("a program "), 1000)
	b, err := Pack(want)
	if err != nil {
		t.Fatal(err)
	}
	k := read(b)
	got, err := k.Unpack()
	sum := sha256.Sum256(want)
	if err != nil || !bytes.Equal(got, want) || k.Sum != hex.EncodeToString(sum[:]) || len(k.Zstd) >= len(want)/10 {
		t.Errorf("%d bytes with sum %s in %d, %v", len(got), k.Sum, len(k.Zstd), err)
	}
}

// The tree has no program: one that lay there would be sent by builds of a later tree.
func TestTheTreeHasNoProgram(t *testing.T) {
	if k := Agent(); len(k.Zstd) > 0 || len(program) > 0 {
		t.Errorf("internal/reach/carried/program has %d bytes; want none", len(program))
	}
}
