package host

import (
	"errors"
	"os"
	"testing"
)

// pipe is a session's standard input: what was written, and how its two calls end.
type pipe struct {
	text         string
	write, close error
}

// Write implements io.Writer.
func (p *pipe) Write(b []byte) (int, error) {
	p.text += string(b)
	return len(b), p.write
}

// Close implements io.Closer.
func (p *pipe) Close() error { return p.close }

// The shell that was told to keep the directory ends at once, so that its pipe may be closed
// before we close it; a word that it never got is a failure.
func TestKeepTellsTheShell(t *testing.T) {
	broken := errors.New("broken pipe")
	for _, c := range []struct {
		write, close, want error
	}{{nil, nil, nil}, {nil, os.ErrClosed, nil}, {broken, os.ErrClosed, broken}, {nil, broken, broken}} {
		p := &pipe{write: c.write, close: c.close}
		d := directory{stdin: p}
		if err := d.keep(); !errors.Is(err, c.want) || p.text != keepWord+"\n" {
			t.Errorf("%+v: %v, %q", c, err, p.text)
		}
	}
}
