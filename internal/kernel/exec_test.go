package kernel

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	if _, err := Run(context.Background(), "no-such-program-of-linerate"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the programs below are Linux's")
	}
	out, err := Run(context.Background(), "sh", "-c", "echo $LC_ALL; echo oops >&2; exit 3")
	if string(out) != "C\n" || err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("%q, %v", out, err)
	}
}
