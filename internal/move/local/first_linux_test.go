package local

import (
	"context"
	"errors"
	"testing"
	"time"

	"linerate/internal/move"
	"linerate/internal/move/movetest"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
)

// waiting is a target on a server that begins a file once a block of it was read.
type waiting struct {
	*place.Place
	read chan struct{}
}

func (waiting) Carried(uint64) bool { return true }

func (w waiting) Begin(ctx context.Context, e *move.Entry) (move.SinkFile, move.Have, error) {
	select {
	case <-w.read:
	case <-ctx.Done():
		return nil, move.Have{}, errors.New("nothing was read while the server made the file")
	}
	return w.Place.Begin(ctx, e)
}

// noting is a source that tells when blocks of a file were read.
type noting struct {
	move.Source
	read chan struct{}
}

func (n noting) Open(ctx context.Context, e *move.Entry) (move.SourceFile, error) {
	f, err := n.Source.Open(ctx, e)
	return noted{f, n.read}, err
}

type noted struct {
	move.SourceFile
	read chan struct{}
}

func (n noted) Read(ctx context.Context, index int64, buf []byte) (move.Block, error) {
	b, err := n.SourceFile.Read(ctx, index, buf)
	n.read <- struct{}{}
	return b, err
}

// While the server of the target makes a file its first block is read, once; a second copy, which finds
// the first file there, reads nothing of the others either.
func TestTheFirstBlockIsReadWhileAServerMakesTheFile(t *testing.T) {
	src, dst := t.TempDir(), t.TempDir()
	const size = 2*move.BlockSize + 5
	for _, name := range []string{"a", "b", "c"} {
		movetest.Write(t, src+"/"+name, string(make([]byte, size)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for run, want := range []int{9, 1} {
		r := move.NewReport(nil)
		from, err := tree.Open([]tree.Top{{Dir: src}}, tree.Options{}, r)
		if err != nil {
			t.Fatal(err)
		}
		to, err := place.Open(dst, place.Options{Run: "test"}, r)
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan struct{}, 100)
		var sink move.Sink = waiting{to, read}
		if run == 1 {
			sink = carrying{to}
		}
		_, err = Copy(ctx, noting{from, read}, sink, r, Options{Files: 1})
		if err := errors.Join(err, to.Close(), from.Close()); err != nil {
			t.Fatal(err)
		}
		lossless(t, r)
		if run == 0 {
			want -= 3 // which Begin has taken
		}
		if n := len(read); n != want {
			t.Errorf("run %d: %d blocks were read, not %d", run, n, want)
		}
	}
	if a, b := movetest.Describe(t, src), movetest.Describe(t, dst); len(a) != len(b) {
		t.Errorf("%v arrived as %v", a, b)
	}
}

// carrying is a target on a server that waits for nothing.
type carrying struct{ *place.Place }

func (carrying) Carried(uint64) bool { return true }
