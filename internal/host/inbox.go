package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"linerate/internal/failure"
)

// inbox is the controller's end of an agent's stream. It decides what reaches the JSON-RPC
// library, which keeps each message until it is fetched: only answers to open calls, one
// object each. The inbox delivers notifications itself, so that a flood of them waits in the
// pipe and not in memory.
type inbox struct {
	*lines
	notified func(method string, params []byte)
	dropped  func(why string)
	crashed  func() // called before a panic of who receives goes on; nil: nothing is

	once sync.Once
	end  func() // nothing more will be received

	mu      sync.Mutex
	waiting map[string]bool // ids of calls without an answer
}

func newInbox(l *lines, notified func(method string, params []byte), dropped func(why string), end func()) *inbox {
	l.max = maxAnswer
	return &inbox{lines: l, notified: notified, dropped: dropped, end: end, waiting: map[string]bool{}}
}

// Send implements channel.Channel.
func (b *inbox) Send(msg []byte) error {
	e, err := openEnvelope(msg)
	if err != nil {
		return fmt.Errorf("send message: %w", err)
	}
	if e.id != "" {
		b.mu.Lock()
		b.waiting[e.id] = true
		b.mu.Unlock()
	}
	return b.lines.Send(msg)
}

// Recv implements channel.Channel.
func (b *inbox) Recv() ([]byte, error) {
	defer failure.OnPanic(b.crashed)
	for {
		msg, err := b.lines.Recv()
		if err != nil {
			b.once.Do(b.end)
			return nil, err
		}
		e, err := openEnvelope(msg)
		switch {
		case err != nil:
			b.once.Do(b.end)
			return nil, fmt.Errorf("receive message: %w", err)
		case e.method != "" && e.id == "":
			b.notified(e.method, e.params)
		case e.method != "":
			b.dropped("requests")
		case b.awaited(e.id):
			return msg, nil
		default:
			b.dropped("answers to what nobody asked")
		}
	}
}

func (b *inbox) awaited(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok := b.waiting[id]
	delete(b.waiting, id)
	return ok
}

// Close implements channel.Channel; the library also calls it when it cannot
// read what it received.
func (b *inbox) Close() error {
	b.once.Do(b.end)
	return b.lines.Close()
}

// envelope has the members of a JSON-RPC message that say what it is.
type envelope struct {
	id     string // as spelled in the text
	method string
	params []byte
}

// openEnvelope reads the members of a message without decoding their values. A list of messages,
// which neither end sends, and members that JSON-RPC does not have are refused: the library
// would keep each of millions.
func openEnvelope(msg []byte) (envelope, error) {
	var e envelope
	known := []string{"jsonrpc", "id", "method", "params", "result", "error"}
	s := scales{text: msg, left: maxDecoded}
	if s.space() != '{' {
		return e, errJSON
	}
	for done := false; !done; {
		if s.at++; s.space() != '"' {
			return e, errJSON
		}
		from := s.at
		if err := s.quoted(); err != nil {
			return e, err
		}
		name := string(msg[from+1 : s.at-1])
		i := slices.Index(known, name)
		if i < 0 || s.space() != ':' {
			return e, fmt.Errorf("%w, or no message of this protocol", errJSON)
		}
		known = slices.Delete(known, i, i+1)
		s.at++
		s.space()
		from = s.at
		if err := s.value(nil, 0); err != nil {
			return e, err
		}
		if err := e.set(name, msg[from:s.at]); err != nil {
			return e, err
		}
		switch s.space() {
		case ',':
		case '}':
			done = true
		default:
			return e, errJSON
		}
	}
	return e, nil
}

func (e *envelope) set(name string, text []byte) error {
	switch name {
	case "id":
		if e.id = string(text); e.id == "null" {
			e.id = ""
		}
	case "method":
		return json.Unmarshal(text, &e.method)
	case "params":
		e.params = text
	}
	return nil
}
