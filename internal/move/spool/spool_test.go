package spool

import (
	"errors"
	"fmt"
	"testing"

	"linerate/internal/move"
)

func TestEntriesComeBackLastFirst(t *testing.T) {
	var s Spool
	for range 2 { // a spool that was closed begins anew
		const n = 5000
		for i := range n {
			if err := s.Add(&move.Entry{Path: fmt.Sprintf("%d\n", i), Kind: move.Directory, ID: uint64(i)}); err != nil {
				t.Fatal(err)
			}
		}
		want := n
		err := s.Backward(func(e *move.Entry) error {
			want--
			if e.ID != uint64(want) || e.Path != fmt.Sprintf("%d\n", want) {
				return fmt.Errorf("%d is %+v", want, e)
			}
			return nil
		})
		if err != nil || want != 0 {
			t.Fatal(want, err)
		}
		stop := errors.New("stop")
		if err := s.Backward(func(*move.Entry) error { return stop }); !errors.Is(err, stop) {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Backward(func(*move.Entry) error { return errors.New("an entry") }); err != nil {
		t.Error(err)
	}
}
