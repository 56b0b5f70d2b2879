package alike

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"strconv"
	"unique"
)

// plan says what each run of digits of a text belongs to.
type plan struct {
	places []span // the runs of digits in the text before
	next   []span // those of the text that is read
	tokens []token
	in     []*holder               // what tokens lie in; the first is nil
	fields []*field                // likewise
	keys   []unique.Handle[string] // of maps: of a thousand hosts most have the same
	round  uint64                  // counts the texts that were read
}

// way is how a token is read.
type way uint8

const (
	fixed  way = iota // it may not change: a name
	number            // a whole number, by its digits
	whole             // by encoding/json
)

// token is a JSON value with digits in it, and where it belongs. A text may have thousands: it is small.
type token struct {
	from, elem      int32  // the first of its runs of digits; the element of a list, or number of a map's key
	runs, pre, post uint16 // how many there are; its bytes before the first and after the last of them
	in, field       uint16 // what it lies in, 0: it is fixed; and within that, or the element, 0: itself
	way             way
}

// field is one of a struct, or of a struct within it.
type field struct{ index []int }

// holder is a part of a value that is reached through a pointer, a list or a map: it is copied before
// it is changed, once for each text. One without another above it is the value itself.
type holder struct {
	up    *holder
	field *field
	elem  int32
	kind  reflect.Kind

	round  uint64        // of the copy
	v      reflect.Value // the copy; of a pointer, what it points to
	counts map[string]int64
	named  bool // its names are shared
}

// apply reads a text into a value, which has what the text before says. After an error the value is
// spoiled; those that came out before are not.
func (p *plan) apply(text, before []byte, value reflect.Value) error {
	if len(text) > maxText || !p.match(text, before) {
		return errUnlike
	}
	p.round++
	for i := range p.tokens {
		t := &p.tokens[i]
		if !p.changed(t, text, before) {
			continue
		}
		if t.way == fixed {
			return errUnlike
		}
		from, to := p.next[t.from].from-int32(t.pre), p.next[t.from+int32(t.runs)-1].to+int32(t.post)
		if err := p.set(t, text[from:to], value); err != nil {
			return err
		}
	}
	p.places, p.next = p.next, p.places
	return nil
}

// match finds the runs of digits of a text; false: it differs in more than those.
func (p *plan) match(text, before []byte) bool {
	i, j, end := int32(0), int32(0), int32(len(text))
	for k, old := range p.places {
		from := j + old.from - i
		if from >= end || !bytes.Equal(text[j:from], before[i:old.from]) || !digit(text[from]) {
			return false
		}
		to := from + 1
		for to < end && digit(text[to]) {
			to++
		}
		p.next[k] = span{from, to}
		i, j = old.to, to
	}
	return bytes.Equal(text[j:], before[i:])
}

func (p *plan) changed(t *token, text, before []byte) bool {
	for k := t.from; k < t.from+int32(t.runs); k++ {
		a, b := p.places[k], p.next[k]
		if !bytes.Equal(before[a.from:a.to], text[b.from:b.to]) {
			return true
		}
	}
	return false
}

// set writes what a token says.
func (p *plan) set(t *token, text []byte, value reflect.Value) error {
	in := p.in[t.in]
	base := in.own(p.round, value)
	if in.counts != nil {
		n, err := integer(text)
		in.counts[p.keys[t.elem].Value()] = n
		return err
	}
	if in.kind == reflect.Map {
		v := reflect.New(base.Type().Elem()).Elem()
		if err := read(t.way, text, v); err != nil {
			return err
		}
		base.SetMapIndex(reflect.ValueOf(p.keys[t.elem].Value()).Convert(base.Type().Key()), v)
		return nil
	}
	return read(t.way, text, in.at(base, t.elem, p.fields[t.field]))
}

// at is a place within a holder.
func (h *holder) at(base reflect.Value, elem int32, f *field) reflect.Value {
	if h.kind == reflect.Slice {
		base = base.Index(int(elem))
	}
	if f != nil {
		base = base.FieldByIndex(f.index)
	}
	return base
}

// own is what a holder holds, as a copy that is this text's alone.
func (h *holder) own(round uint64, value reflect.Value) reflect.Value {
	if h.up == nil {
		return value
	}
	if h.round == round {
		return h.v
	}
	h.round = round
	slot := h.up.at(h.up.own(round, value), h.elem, h.field)
	switch h.kind {
	case reflect.Pointer:
		made := reflect.New(slot.Type().Elem())
		made.Elem().Set(slot.Elem())
		slot.Set(made)
		h.v = made.Elem()
	case reflect.Slice:
		made := reflect.MakeSlice(slot.Type(), slot.Len(), slot.Len())
		reflect.Copy(made, slot)
		slot.Set(made)
		h.v = made
	default:
		if counts, ok := slot.Interface().(map[string]int64); ok {
			h.counts = h.copied(counts)
			h.v = reflect.ValueOf(h.counts)
		} else {
			h.v = cloned(slot)
		}
		slot.Set(h.v)
	}
	return h.v
}

// copied is a copy of counts, the first time with names that all values of a process share.
func (h *holder) copied(counts map[string]int64) map[string]int64 {
	if h.named {
		return maps.Clone(counts)
	}
	h.named = true
	out := make(map[string]int64, len(counts))
	for name, n := range counts {
		out[unique.Make(name).Value()] = n
	}
	return out
}

func cloned(m reflect.Value) reflect.Value {
	made := reflect.MakeMapWithSize(m.Type(), m.Len())
	for each := m.MapRange(); each.Next(); {
		made.SetMapIndex(each.Key(), each.Value())
	}
	return made
}

// read reads the text of one value.
func read(w way, text []byte, to reflect.Value) error {
	if w == whole {
		return decode(text, to)
	}
	switch {
	case to.CanInt():
		n, err := integer(text)
		if err != nil || to.OverflowInt(n) {
			return errUnlike
		}
		to.SetInt(n)
	case to.CanUint():
		n, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil || !plain(text) || to.OverflowUint(n) {
			return errUnlike
		}
		to.SetUint(n)
	default:
		x, err := strconv.ParseFloat(string(text), to.Type().Bits())
		if err != nil || !plain(text) || to.OverflowFloat(x) {
			return errUnlike
		}
		to.SetFloat(x)
	}
	return nil
}

func integer(text []byte) (int64, error) {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || !plain(text) {
		return 0, errUnlike
	}
	return n, nil
}

// plain tells whether digits, perhaps with a sign, are a JSON number (RFC 8259, section 6).
func plain(text []byte) bool {
	text = bytes.TrimPrefix(text, []byte("-"))
	return len(text) == 1 || text[0] != '0'
}

// decode decodes into a value of its own, as nothing of the one before may be changed.
func decode(text []byte, to reflect.Value) error {
	made := reflect.New(to.Type())
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(made.Interface()); err != nil || d.InputOffset() != int64(len(text)) {
		return errUnlike
	}
	to.Set(made.Elem())
	return nil
}
