package local

import (
	"testing"

	"linerate/internal/move"
)

func TestTheBufferThatWasUsedLastIsTakenFirst(t *testing.T) {
	b, err := newBuffers(3)
	if err != nil {
		t.Fatal(err)
	}
	defer b.free()
	one, two := b.take(), b.take()
	if &one.b[0] == &two.b[0] {
		t.Fatal("one buffer was given to two")
	}
	b.give(two)
	b.give(one)
	if again := b.take(); &again.b[0] != &one.b[0] {
		t.Error("another buffer than the last one")
	} else {
		b.give(again)
	}
}

func TestRoomGrowsWithTheLargestFile(t *testing.T) {
	var r room
	for _, c := range []struct{ n, has int64 }{{0, 0}, {1, leastRoom}, {leastRoom + 1, 2 * leastRoom}, {3, 2 * leastRoom}, {move.PackSize, move.PackSize}} {
		if b := r.of(c.n); int64(len(b)) != c.n || int64(len(r.b)) != c.has {
			t.Errorf("for %d bytes: %d of %d, want %d", c.n, len(b), len(r.b), c.has)
		}
	}
}
