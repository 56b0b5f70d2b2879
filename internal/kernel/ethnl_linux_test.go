package kernel

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// The library sends four bytes of a structure of two: the rest was whatever lay beside it.
func TestRequestsToGenericNetlinkReserveZeros(t *testing.T) {
	for range 100 {
		g := &genl{ethnlPause, 1}
		if got := g.Serialize(); !bytes.Equal(got, []byte{ethnlPause, 1, 0, 0}) {
			t.Fatalf("header %v", got)
		}
	}
	if got := (genl{ethnlPause, 1}).Len(); got != 4 {
		t.Errorf("length %d", got)
	}
}

func TestFamilyOfEthtoolIsFound(t *testing.T) {
	e, err := openEthnl()
	if err != nil {
		t.Skip(err)
	}
	// The loopback has no pause frames: that the family says so shows that it was reached.
	if _, err := e.ask("lo", ethnlPause); !errors.Is(err, unix.EOPNOTSUPP) {
		t.Errorf("ask for the pause frames of lo: %v", err)
	}
}
