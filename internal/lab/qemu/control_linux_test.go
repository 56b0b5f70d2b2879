package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDialWaitsForTheEmulator(t *testing.T) {
	work := filepath.Join(t.TempDir(), strings.Repeat("long,", 20))
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	ended := errors.New("the emulator has ended")
	ctx, end := context.WithCancelCause(context.Background())
	end(ended)
	if _, err := Dial(ctx, work); !errors.Is(err, ended) {
		t.Errorf("no emulator: %v", err)
	}

	type dialled struct {
		c   net.Conn
		err error
	}
	got := make(chan dialled)
	go func() {
		c, err := Dial(context.Background(), work)
		got <- dialled{c, err}
	}()
	dir, err := os.Open(work)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	l, err := net.Listen("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), controlSocket))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := <-got
	if d.err != nil {
		t.Fatal(d.err)
	}
	d.c.Close()
}
