package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxMessage is the longest JSON-RPC message, in bytes. The facts of a large host stay far
// below it, and no peer can make this process hold more.
const MaxMessage = 16 << 20

// Sizes, in bytes: of the least buffer, which is the one that is used again for the next message, and of
// the longest message that is copied. A controller may have a thousand streams.
const (
	leastBuffer = 4 << 10
	mostCopied  = 16 << 10
)

// lines frames messages as lines, as a jrpc2 channel.
type lines struct {
	r   io.Reader
	w   io.WriteCloser
	max int

	buf []byte // what was read; from at on it was not handed over
	at  int
	end error // of the stream, once all of it was read
}

func newLines(r io.Reader, w io.WriteCloser) *lines {
	return &lines{r: r, w: w, max: MaxMessage}
}

// Send implements channel.Channel.
func (l *lines) Send(msg []byte) error {
	if len(msg) > l.max {
		return fmt.Errorf("send message: %d bytes are more than %d", len(msg), l.max)
	}
	if bytes.IndexByte(msg, '\n') >= 0 {
		return errors.New("send message: line break inside")
	}
	_, err := l.w.Write(append(msg[:len(msg):len(msg)], '\n'))
	return err
}

// Recv implements channel.Channel. An end of the stream within a message is an error.
func (l *lines) Recv() ([]byte, error) {
	for looked := 0; ; {
		i := bytes.IndexByte(l.buf[l.at+looked:], '\n')
		looked += i
		if i < 0 {
			looked = len(l.buf) - l.at
		}
		switch {
		case looked > l.max:
			return nil, fmt.Errorf("receive message: more than %d bytes", l.max)
		case i >= 0:
			return l.cut(looked), nil
		case l.end == nil:
			l.fill()
		case errors.Is(l.end, io.EOF) && looked > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, l.end
		}
	}
}

// cut hands over a message of so many bytes. The receiver keeps it, so that a large one is not copied.
func (l *lines) cut(size int) []byte {
	msg, rest := l.buf[l.at:l.at+size:l.at+size], l.buf[l.at+size+1:]
	if size > mostCopied {
		l.buf, l.at = bytes.Clone(rest), 0
		return msg
	}
	msg = bytes.Clone(msg)
	if l.at += size + 1; len(rest) == 0 {
		l.buf, l.at = l.buf[:0], 0
		if cap(l.buf) > leastBuffer { // most messages of a view fit into that
			l.buf = nil
		}
	}
	return msg
}

// fill reads more. What lies before it is moved to the front or, where there is no room, to a larger
// buffer.
func (l *lines) fill() {
	unread := l.buf[l.at:]
	if cap(l.buf)-len(unread) >= leastBuffer/8 {
		l.buf = l.buf[:copy(l.buf[:cap(l.buf)], unread)]
	} else {
		l.buf = append(make([]byte, 0, max(leastBuffer, min(2*cap(l.buf), l.max+leastBuffer))), unread...)
	}
	l.at = 0
	n, err := l.r.Read(l.buf[len(l.buf):cap(l.buf)])
	l.buf, l.end = l.buf[:len(l.buf)+n], err
}

// decodeStrict reads one JSON value and refuses fields that v does not have.
func decodeStrict(s string, v any) error {
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Close implements channel.Channel.
func (l *lines) Close() error { return l.w.Close() }
