package local

import "testing"

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
