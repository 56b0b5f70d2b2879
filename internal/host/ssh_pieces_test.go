package host

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pieces is the stdin of a shell that has read all that came, and said nothing to it yet.
type pieces struct {
	bytes.Buffer
	n int
}

// Write implements io.Writer: each piece is one write.
func (p *pieces) Write(b []byte) (int, error) {
	if len(b) > 1000 {
		p.n++
	}
	return p.Buffer.Write(b)
}

// Close implements io.Closer.
func (*pieces) Close() error { return nil }

// A host that has not passed on what came gets no more than its buffer holds well, and the rest once
// it has; one that is far away gets as much as the path holds.
func TestNoMoreIsUnderWayThanTheHostPassesOn(t *testing.T) {
	for most, first := range map[int]time.Duration{nearAhead: 0, farAhead: 2 * farTime} {
		synctest.Test(t, func(t *testing.T) { sendsPieces(t, most, first) })
	}
}

// sendsPieces has a host pass on the first piece after a time, and looks at how many follow.
func sendsPieces(t *testing.T, most int, first time.Duration) {
	t.Helper()
	all := farAhead + 3
	data := bytes.Repeat([]byte{1}, all*pieceSize-1)
	in := &pieces{}
	out, says := io.Pipe()
	x := &sshSession{exact: true, started: &started{stdin: in, stdout: out, kill: says.Close}}
	done := make(chan error, 1)
	go func() {
		_, err := x.send(t.Context(), wordZstd, data)
		done <- err
	}()
	time.Sleep(first)
	for i := range all {
		synctest.Wait()
		want := firstAhead
		if i > 0 {
			want = min(max(want, i+most), all)
		}
		if in.n != want {
			t.Errorf("%d pieces were sent when %d had been passed on, want %d", in.n, i, want)
		}
		if _, err := io.WriteString(says, passed+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(says, taken+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	size := strconv.Itoa(pieceSize) + "\n"
	want := wordZstd + " " + strconv.Itoa(len(data)) + "\n" +
		strings.Repeat(size+string(data[:pieceSize]), all-1) + strconv.Itoa(pieceSize-1) + "\n" + string(data[:pieceSize-1]) + "0\n"
	if got := in.String(); got != want {
		t.Errorf("%d bytes were sent, want %d, or they are others", len(got), len(want))
	}
}
