package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"linerate/internal/host/delta"
	"linerate/internal/load/block"
)

// Bounds on the memory that an agent can make its controller use at any time. Samples come on
// top of them: sampleRoom, and roomPerSecond for as long as a sampling lasts.
const (
	// maxAnswer is the longest message that a controller reads, in bytes. The facts of a large
	// host take a tenth of it.
	maxAnswer = 4 << 20
	// maxDecoded is how many bytes one message may take once it is decoded.
	maxDecoded = 16 << 20
	// maxDepth is how deep the values of a message may nest.
	maxDepth = 64
)

var (
	errHeavy = fmt.Errorf("it decodes to more than %d MiB", maxDecoded>>20)
	errDeep  = fmt.Errorf("it nests deeper than %d values", maxDepth)
	errJSON  = errors.New("it is not JSON")
)

// Types is what is known of the types that messages decode into, what unpacks samples, and what hosts'
// facts have alike. Clients may share one: of a thousand each would otherwise hold a hundred kilobytes of
// it. The zero value is ready.
type Types struct {
	all    sync.Map // fields, by reflect.Type
	unpack delta.Decoder
	shared shared
}

// fields are those of a struct, by their names and their folded names.
type fields map[string]reflect.Type

// of are the fields of a struct.
func (y *Types) of(t reflect.Type) fields {
	if known, ok := y.all.Load(t); ok {
		return known.(fields)
	}
	known := fields{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if f.IsExported() && name != "-" {
			known[folded(name)], known[name] = f.Type, f.Type
		}
	}
	y.all.Store(t, known)
	return known
}

// weighed bounds, before anything is decoded, how many bytes of memory a JSON text takes once it
// is decoded into a value of type t: "{}" in a list is two bytes and may become a kilobyte. It
// errs on the high side, and fails if the sum exceeds maxDecoded or the values nest too
// deeply. Text that is not JSON may pass; decoding it fails.
func weighed(text []byte, t reflect.Type, types *Types) (int64, error) {
	s := scales{text: text, left: maxDecoded, types: types}
	err := s.value(t, 0)
	return maxDecoded - s.left, err
}

// scales walks a JSON text together with the type that it is decoded into.
type scales struct {
	text  []byte
	at    int
	left  int64
	types *Types
}

// Costs that the types do not show, in bytes.
const (
	mapEntry  = 64 // beside key and value
	looseNode = 96 // a value of no type
	// timesCost is the size of a histogram of times, however few values it has.
	timesCost = 300 << 10
)

func (s *scales) add(n int64) error {
	if s.left -= n; s.left < 0 {
		return errHeavy
	}
	return nil
}

func (s *scales) space() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// value walks one value. A nil type is one that decoding skips.
func (s *scales) value(t reflect.Type, depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		if err := s.add(int64(t.Size())); err != nil {
			return err
		}
	}
	if err := s.own(t); err != nil {
		return err
	}
	switch s.space() {
	case '{':
		return s.object(t, depth)
	case '[':
		return s.array(t, depth)
	case '"':
		from := s.at
		if err := s.quoted(); err != nil {
			return err
		}
		if t == nil {
			return nil
		}
		return s.add(int64(s.at - from))
	case 0:
		return errJSON
	}
	return s.word()
}

// own adds what a value of the type allocates besides its own size, whatever its text.
func (s *scales) own(t reflect.Type) error {
	switch {
	case t == nil:
		return nil
	case t == reflect.TypeFor[block.Times]():
		return s.add(timesCost)
	case t.Kind() == reflect.Interface:
		return s.add(looseNode)
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
		return s.add(2 * int64(t.Size())) // it decodes into another value first
	}
	return nil
}

func (s *scales) word() error {
	from := s.at
	for s.at < len(s.text) && !endsWord(s.text[s.at]) {
		s.at++
	}
	if s.at == from {
		return errJSON
	}
	return nil
}

// endsWord tells whether a number or a name ends before a byte.
func endsWord(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', ']', '}':
		return true
	}
	return false
}

// quoted walks a string.
func (s *scales) quoted() error {
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '"':
			s.at++
			return nil
		}
	}
	return errJSON
}

// array walks a list. A slice that grows has a capacity of at most twice its length.
func (s *scales) array(t reflect.Type, depth int) error {
	elem, each := elemOf(t)
	s.at++
	if s.space() == ']' {
		s.at++
		return nil
	}
	for {
		if err := s.add(each); err != nil {
			return err
		}
		if err := s.value(elem, depth+1); err != nil {
			return err
		}
		if done, err := s.next(']'); done || err != nil {
			return err
		}
	}
}

// elemOf is the type of a list's elements, and what each takes.
func elemOf(t reflect.Type) (reflect.Type, int64) {
	if t == nil {
		return nil, 0
	}
	switch t.Kind() {
	case reflect.Slice:
		return t.Elem(), 2 * int64(t.Elem().Size())
	case reflect.Array:
		return t.Elem(), 0
	case reflect.Interface:
		return t, 2 * int64(t.Size())
	}
	return nil, 0
}

// object walks an object.
func (s *scales) object(t reflect.Type, depth int) error {
	s.at++
	if s.space() == '}' {
		s.at++
		return nil
	}
	var known fields
	if t != nil && t.Kind() == reflect.Struct {
		known = s.types.of(t)
	}
	for {
		if s.space() != '"' {
			return errJSON
		}
		from := s.at
		if err := s.quoted(); err != nil {
			return err
		}
		inner, cost := memberOf(t, known, s.text[from:s.at])
		if s.space() != ':' {
			return errJSON
		}
		s.at++
		if err := s.add(cost); err != nil {
			return err
		}
		if err := s.value(inner, depth+1); err != nil {
			return err
		}
		if done, err := s.next('}'); done || err != nil {
			return err
		}
	}
}

// next steps over a comma, or over the end.
func (s *scales) next(end byte) (done bool, err error) {
	c := s.space()
	s.at++
	switch c {
	case end:
		return true, nil
	case ',':
		return false, nil
	}
	return false, errJSON
}

// memberOf returns the type that the value of a key is decoded into (nil for a key that is
// skipped) and the memory for the key itself.
func memberOf(t reflect.Type, known fields, quoted []byte) (reflect.Type, int64) {
	if t == nil {
		return nil, 0
	}
	switch t.Kind() {
	case reflect.Map:
		return t.Elem(), mapEntry + int64(len(quoted)) + 2*int64(t.Key().Size()+t.Elem().Size())
	case reflect.Interface:
		return t, mapEntry + int64(len(quoted)) + looseNode
	case reflect.Struct:
		return known.find(quoted), 0
	}
	return nil, 0
}

// find finds a field as encoding/json does: by its name, ignoring case.
func (known fields) find(quoted []byte) reflect.Type {
	if f := known[string(quoted[1:len(quoted)-1])]; f != nil {
		return f // as this program spells it
	}
	var key string
	if json.Unmarshal(quoted, &key) != nil {
		return nil
	}
	return known[folded(key)]
}

// folded returns the same string for names that differ in case only. It converts to upper and
// then to lower case, since Unicode has letters whose lower case is themselves and whose upper
// case is an ASCII letter, and the reverse.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }
