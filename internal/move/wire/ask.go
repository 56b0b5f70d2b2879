package wire

import (
	"context"
	"encoding/binary"

	"linerate/internal/move"
)

// What a receiver asks after everything was finished, about names of the target: its sender
// alone knows which of them the source has.

// askMessage are names; the receiver sends it.
type askMessage []move.Name

// Bounds of a question.
const (
	maxAsked   = 4096
	askedBytes = maxMeta / 2
)

func (m askMessage) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(m)))
	for _, n := range m {
		b = flag(b, n.Directory)
		b = append(binary.AppendUvarint(b, uint64(len(n.Path))), n.Path...)
	}
	return b
}

func parseAsk(b []byte) (askMessage, error) {
	p := parser{b: b}
	var out askMessage
	for range p.number(maxAsked) {
		n := move.Name{Directory: p.flag()}
		n.Path = string(p.bytes(p.number(maxMeta)))
		if p.bad {
			break
		}
		if err := move.CheckPath(n.Path); err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, p.done()
}

// toldMessage answers it.
type toldMessage struct {
	unread uint64 // entries of the source that could not be read
	keeps  []bool
	failed string
}

func (m toldMessage) append(b []byte) []byte {
	b = appendText(binary.AppendUvarint(b, m.unread), m.failed)
	b = binary.AppendUvarint(b, uint64(len(m.keeps)))
	for _, k := range m.keeps {
		b = flag(b, k)
	}
	return b
}

func parseTold(b []byte) (m toldMessage, err error) {
	p := parser{b: b}
	m.unread, m.failed = p.number(maxID), p.text()
	for range p.number(maxAsked) {
		if m.keeps = append(m.keeps, p.flag()); p.bad {
			break
		}
	}
	return m, p.done()
}

// answerAsked answers a question, which comes after finish was sent.
func (s *sender) answerAsked(ctx context.Context, meta []byte) error {
	m, err := parseAsk(meta)
	if err != nil {
		return err
	}
	k, ok := s.src.(move.Keeper)
	s.mu.Lock()
	early := !s.finishing
	s.mu.Unlock()
	if !ok || early {
		return errMessage
	}
	var t toldMessage
	n, err := k.Unread(ctx)
	if err == nil {
		t.keeps, err = k.Keeps(ctx, m)
	}
	if t.unread = uint64(n); err != nil {
		t.failed, t.keeps = err.Error(), nil
	}
	return s.control.send(frame{kind: kindTold, meta: t.append(nil)})
}

// asker is the source as the receiver can ask it: it is used by the goroutine that hears the
// control stream, and by no other.
type asker struct{ r *receiver }

// Keeps implements move.Keeper.
func (a asker) Keeps(ctx context.Context, names []move.Name) ([]bool, error) {
	out := make([]bool, 0, len(names))
	for len(names) > 0 {
		n, size := 0, 0
		for n < len(names) && n < maxAsked && (n == 0 || size+len(names[n].Path) < askedBytes) {
			size += len(names[n].Path) + 8
			n++
		}
		t, err := a.ask(ctx, names[:n])
		if err != nil {
			return nil, err
		}
		out, names = append(out, t.keeps...), names[n:]
	}
	return out, nil
}

// Unread implements move.Keeper.
func (a asker) Unread(ctx context.Context) (int64, error) {
	t, err := a.ask(ctx, nil)
	return int64(t.unread), err
}

func (a asker) ask(ctx context.Context, names []move.Name) (t toldMessage, err error) {
	if err := ctx.Err(); err != nil {
		return t, context.Cause(ctx)
	}
	if err := a.r.control.send(frame{kind: kindAsk, meta: askMessage(names).append(nil)}); err != nil {
		return t, err
	}
	k, meta, err := a.r.word()
	switch {
	case err != nil:
		return t, err
	case k == kindFail:
		return t, farWhy(meta)
	case k != kindTold:
		return t, errMessage
	}
	if t, err = parseTold(meta); err != nil {
		return t, err
	}
	if t.failed != "" {
		return t, &farError{text: t.failed}
	}
	if len(t.keeps) != len(names) {
		return t, errMessage
	}
	return t, nil
}
