package failure

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

func TestKindOf(t *testing.T) {
	inner := Of(Usage, "read flag: %w", io.EOF)
	for _, c := range []struct {
		err  error
		want Kind
	}{
		{io.EOF, Failed},
		{inner, Usage},
		{fmt.Errorf("run: %w", inner), Usage},
		{As(NotRestored, inner), NotRestored},
		{errors.Join(io.EOF, inner), Usage},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("KindOf(%v) = %d, want %d", c.err, got, c.want)
		}
	}
	if As(Nothing, nil) != nil {
		t.Error("nil with a kind is an error")
	}
	if !errors.Is(inner, io.EOF) {
		t.Error("the cause is lost")
	}
}

// Steps are found behind wrapping and joining, and change neither text nor kind.
func TestSteps(t *testing.T) {
	a := Advise(Of(Usage, "a"), NameMount, "/x")
	err := fmt.Errorf("run: %w", errors.Join(a, Advise(Advise(io.EOF, PutBack, "h"), WaitLonger)))
	var got []Next
	for _, s := range Steps(err) {
		got = append(got, s.Next)
	}
	if !slices.Equal(got, []Next{NameMount, WaitLonger, PutBack}) || err.Error() != "run: a\nEOF" || KindOf(err) != Usage || !errors.Is(err, io.EOF) {
		t.Errorf("%v of %v", got, err)
	}
	if Steps(io.EOF) != nil || Steps(nil) != nil {
		t.Error("steps of nothing")
	}
}

func TestAnErrorThatWasToldIsTheSameOtherwise(t *testing.T) {
	err := Told(Of(Usage, "make x: %w", errors.ErrUnsupported))
	if !WasTold(errors.Join(err)) || KindOf(err) != Usage || !errors.Is(err, errors.ErrUnsupported) || err.Error() != "make x: unsupported operation" {
		t.Errorf("%v of kind %d", err, KindOf(err))
	}
	if Told(nil) != nil || WasTold(nil) || WasTold(Of(Usage, "x")) {
		t.Error("what was not told is said to be")
	}
}
