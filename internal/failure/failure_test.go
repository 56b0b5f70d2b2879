package failure

import (
	"errors"
	"fmt"
	"io"
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
