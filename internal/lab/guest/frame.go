package guest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// request is the first frame of a command, as JSON. Each command has a stream of its own;
// after the request frames go both ways until the exit.
type request struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	// Off powers the host off instead of running a command.
	Off bool `json:"off,omitempty"`
}

type exit struct {
	Code  int    `json:"code"`
	Error string `json:"error,omitempty"`
}

type kind byte

const (
	kindRequest kind = iota + 1
	kindStdin        // an empty frame: end of input
	kindSignal       // one byte: the signal's number
	kindStdout
	kindStderr
	kindExit
)

// maxFrame bounds a frame; a command line with its environment is the longest.
const maxFrame = 4 << 20

// frames writes whole frames, from any goroutine.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) send(k kind, b []byte) error {
	head := make([]byte, 5, 5+len(b))
	head[0] = byte(k)
	binary.BigEndian.PutUint32(head[1:], uint32(len(b)))
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.w.Write(append(head, b...))
	return err
}

func (f *frames) sendJSON(k kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.send(k, b)
}

// as returns a writer whose bytes are sent as frames of a kind.
func (f *frames) as(k kind) io.Writer { return frameWriter{f, k} }

type frameWriter struct {
	f *frames
	k kind
}

func (w frameWriter) Write(b []byte) (int, error) {
	const most = 64 << 10
	for at := 0; at < len(b); at += most {
		if err := w.f.send(w.k, b[at:min(len(b), at+most)]); err != nil {
			return at, err
		}
	}
	return len(b), nil
}

// readFrame reads one frame. It returns io.EOF if the stream ends between frames.
func readFrame(r io.Reader) (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame || head[0] == 0 || kind(head[0]) > kindExit {
		return 0, nil, fmt.Errorf("read frame: kind %d of %d bytes", head[0], n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return 0, nil, fmt.Errorf("read frame: %w", err)
	}
	return kind(head[0]), b, nil
}
