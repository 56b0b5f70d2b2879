package local

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"linerate/internal/move"
)

// Of each directory a file comes in turn, all in their own order, and none is lost.
func TestFilesOfSeveralDirectoriesComeInTurn(t *testing.T) {
	in, out := make(chan *move.Entry), make(chan *move.Entry)
	over := make(chan error, 1)
	go func() { over <- inTurns(t.Context(), in, out) }()
	for _, path := range []string{"x", "a/1", "a/2", "a/3", "b/1", "b/2", "a/c/1"} {
		in <- &move.Entry{Path: path}
	}
	close(in)
	want := []string{"x", "a/1", "b/1", "a/c/1", "a/2", "b/2", "a/3"}
	for i := 0; ; i++ {
		e, ok := <-out
		if !ok {
			if i != len(want) {
				t.Errorf("%d files came", i)
			}
			break
		}
		if i >= len(want) || e.Path != want[i] {
			t.Errorf("%d: %s came", i, e.Path)
		}
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// No more is held than may be, whoever is slow, and the end of the copy ends it.
func TestWhatIsHeldIsBounded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	in, out := make(chan *move.Entry), make(chan *move.Entry)
	over := make(chan error, 1)
	go func() { over <- inTurns(ctx, in, out) }()
	for i := range servedAhead + 1 { // one more is offered
		in <- &move.Entry{Path: fmt.Sprintf("%d/f", i%7)}
	}
	<-out
	in <- &move.Entry{Path: "f"}
	select {
	case in <- &move.Entry{Path: "g"}:
		t.Error("more is held than may be")
	default:
	}
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
