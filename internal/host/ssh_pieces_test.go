package host

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
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
// it has.
func TestNoMoreIsUnderWayThanTheHostPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := bytes.Repeat([]byte{1}, (ahead+2)*pieceSize-1)
		in := &pieces{}
		out, says := io.Pipe()
		x := &sshSession{started: &started{stdin: in, stdout: out, kill: says.Close}}
		done := make(chan error, 1)
		go func() {
			_, err := x.send(t.Context(), wordZstd, data)
			done <- err
		}()
		for i := range ahead + 2 {
			synctest.Wait()
			if want := min(ahead+i, ahead+2); in.n != want {
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
			strings.Repeat(size+string(data[:pieceSize]), ahead+1) + strconv.Itoa(pieceSize-1) + "\n" + string(data[:pieceSize-1]) + "0\n"
		if got := in.String(); got != want {
			t.Errorf("%d bytes were sent, want %d, or they are others", len(got), len(want))
		}
	})
}
