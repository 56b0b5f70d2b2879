package wire

import (
	"context"
	"encoding/binary"

	"linerate/internal/move"
)

// What a sender asks before it decides what goes to which of several targets: what each has
// under the names of some entries.

// Bounds of a question.
const (
	maxLooked   = 1024
	lookedBytes = maxMeta / 2
)

// lookMessage are entries, without what takes no part in the answer.
type lookMessage []*move.Entry

func (m lookMessage) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	for _, e := range m {
		b = appendLook(b, e)
	}
	return b
}

func appendLook(b []byte, e *move.Entry) []byte {
	bare := *e
	bare.Xattrs = nil
	return move.AppendEntry(b, &bare)
}

func parseLook(b []byte) (lookMessage, error) {
	p := parser{b: b}
	var out lookMessage
	for range p.number(maxLooked) {
		e := p.entry()
		if p.bad {
			break
		}
		out = append(out, e)
	}
	return out, p.done()
}

// lookedMessage answers it.
type lookedMessage struct {
	have   []move.Presence
	failed string
}

func (m lookedMessage) append(b []byte) []byte {
	b = appendText(b, m.failed)
	b = binary.AppendUvarint(b, uint64(len(m.have)))
	for _, h := range m.have {
		b = append(b, byte(h))
	}
	return b
}

func parseLooked(b []byte) (m lookedMessage, err error) {
	p := parser{b: b}
	m.failed = p.text()
	for range p.number(maxLooked) {
		if m.have = append(m.have, move.Presence(p.number(uint64(move.Differs)))); p.bad {
			break
		}
	}
	return m, p.done()
}

// Find implements move.Finder: it asks the receiver.
func (s *sender) Find(ctx context.Context, entries []*move.Entry) ([]move.Presence, error) {
	s.looking.Lock()
	defer s.looking.Unlock()
	out := make([]move.Presence, 0, len(entries))
	for len(entries) > 0 {
		var meta []byte
		n := 0
		for ; n < len(entries) && n < maxLooked && (n == 0 || len(meta) < lookedBytes); n++ {
			meta = appendLook(meta, entries[n])
		}
		have, err := s.look(ctx, append(binary.AppendUvarint(nil, uint64(n)), meta...), n)
		if err != nil {
			return nil, err
		}
		out, entries = append(out, have...), entries[n:]
	}
	return out, nil
}

// look sends one question and waits for its answer; s.looking is held.
func (s *sender) look(ctx context.Context, meta []byte, n int) ([]move.Presence, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if len(meta) > maxMeta { // one entry alone, which is refused when it is to be sent
		return make([]move.Presence, n), nil
	}
	if err := s.control.send(frame{kind: kindLook, meta: meta}); err != nil {
		return nil, err
	}
	var m *lookedMessage
	err := s.await(func() bool {
		m, s.looked = s.looked, nil
		return m != nil
	})
	switch {
	case err != nil:
		return nil, err
	case m.failed != "":
		return nil, &farError{text: m.failed}
	case len(m.have) != n:
		return nil, errMessage
	}
	return m.have, nil
}

// hearLooked keeps an answer for who waits for it.
func (s *sender) hearLooked(meta []byte) error {
	m, err := parseLooked(meta)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looked != nil {
		return errMessage
	}
	s.looked = &m
	s.changed.Broadcast()
	return nil
}

// look answers a question of the sender.
func (r *receiver) look(ctx context.Context, meta []byte) error {
	m, err := parseLook(meta)
	if err != nil {
		return err
	}
	f, ok := r.sink.(move.Finder)
	if !ok {
		return errMessage
	}
	var out lookedMessage
	if out.have, err = f.Find(ctx, m); err != nil {
		out = lookedMessage{failed: err.Error()}
	}
	return r.control.send(frame{kind: kindLooked, meta: out.append(nil)})
}
