package host

import (
	"bufio"
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

// Sizes of buffers, in bytes: of what is read at once, and up to which one is used again for the next
// message. A controller may have a thousand streams.
const (
	readBuffer = 16 << 10
	keptBuffer = 16 << 10
)

// lines frames messages as lines, as a jrpc2 channel.
type lines struct {
	r   *bufio.Reader
	w   io.WriteCloser
	max int
	buf []byte
}

func newLines(r io.Reader, w io.WriteCloser) *lines {
	return &lines{r: bufio.NewReaderSize(r, readBuffer), w: w, max: MaxMessage}
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
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(part) > l.max+1 {
			return nil, fmt.Errorf("receive message: more than %d bytes", l.max)
		}
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			// The receiver keeps the message, so that a large one is not copied.
			msg := l.buf[:len(l.buf)-1]
			if len(msg) > keptBuffer {
				l.buf = nil
				return msg, nil
			}
			return bytes.Clone(msg), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}

// decodeStrict reads one JSON value and refuses fields that v does not have.
func decodeStrict(s string, v any) error {
	d := json.NewDecoder(strings.NewReader(s))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Close implements channel.Channel.
func (l *lines) Close() error { return l.w.Close() }
