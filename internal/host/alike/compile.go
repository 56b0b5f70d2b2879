package alike

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"unique"
)

// compiler walks a text, of which it is known that it decodes, together with the type of its value.
type compiler struct {
	text   []byte
	at     int
	next   int32 // the first run of digits that belongs to no token yet
	plan   *plan
	fields map[reflect.Type]map[string]*member
	shared map[within]*field // so that the elements of a list have the same
	in     map[*holder]uint16
	places map[*field]uint16
	large  bool // a number does not fit into a token
}

// within is a field of what another is.
type within struct {
	up *field
	m  *member
}

// member is a field of a struct, with its type.
type member struct {
	index []int
	typ   reflect.Type
}

// planOf is the plan for texts like one that decodes into a value of a type.
func planOf(text []byte, t reflect.Type) (*plan, error) {
	places := digits(text)
	if len(places) > maxTokens {
		return nil, errUnlike
	}
	c := &compiler{text: text, plan: &plan{places: places, next: make([]span, len(places))}, fields: map[reflect.Type]map[string]*member{}, shared: map[within]*field{}, in: map[*holder]uint16{}, places: map[*field]uint16{}}
	c.plan.in, c.plan.fields = []*holder{nil}, []*field{nil}
	if err := c.value(t, &holder{kind: t.Kind()}, 0, nil); err != nil {
		return nil, err
	}
	c.space()
	if c.at != len(text) {
		return nil, errUnlike // what follows a value is not looked at when it is decoded
	}
	c.names(int32(len(places)))
	if c.large {
		return nil, errUnlike
	}
	c.plan.tokens, c.plan.keys = slices.Clone(c.plan.tokens), slices.Clone(c.plan.keys) // without what lists have to grow
	return c.plan, nil
}

func (c *compiler) space() byte {
	for ; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\r', '\n':
		default:
			return b
		}
	}
	return 0
}

// names has all runs of digits up to one that are no value's stay as they are.
func (c *compiler) names(to int32) {
	if c.next < to {
		c.plan.tokens = append(c.plan.tokens, token{from: c.next, runs: c.small(to - c.next)})
		c.next = to
	}
}

// token notes a value that lies from a place of the text up to where the walk is.
func (c *compiler) token(from int, w way, in *holder, elem int32, f *field) {
	first, places := c.next, c.plan.places
	for first < int32(len(places)) && int(places[first].from) < from {
		first++
	}
	c.names(first)
	last := first
	for last < int32(len(places)) && int(places[last].to) <= c.at {
		last++
	}
	if c.next = last; first == last {
		return
	}
	t := token{from: first, runs: c.small(last - first), pre: c.small(places[first].from - int32(from)), post: c.small(int32(c.at) - places[last-1].to), way: w, elem: elem,
		in: numbered(c, c.in, &c.plan.in, in), field: numbered(c, c.places, &c.plan.fields, f)}
	if w == number && (last > first+1 || t.post > 0 || t.pre > 0 && c.text[from] != '-') {
		t.way = whole
	}
	c.plan.tokens = append(c.plan.tokens, t)
}

// small is a number as a token has it.
func (c *compiler) small(n int32) uint16 {
	c.large = c.large || n > math.MaxUint16
	return uint16(n)
}

// numbered is the place of something in a list, to which it is added the first time; nil is the first.
func numbered[T any](c *compiler, known map[*T]uint16, list *[]*T, x *T) uint16 {
	n, ok := known[x]
	if !ok && x != nil {
		n = c.small(int32(len(*list)))
		known[x], *list = n, append(*list, x)
	}
	return n
}

// value walks one value, which belongs into a place of a holder.
func (c *compiler) value(t reflect.Type, in *holder, elem int32, f *field) error {
	begins := c.space()
	from := c.at
	w := whole
	switch {
	case begins == 'n' || reads(t):
	case t.Kind() == reflect.Pointer:
		return c.value(t.Elem(), &holder{up: in, field: f, elem: elem, kind: reflect.Pointer}, 0, nil)
	case t.Kind() == reflect.Struct && begins == '{':
		return c.object(t, in, elem, f)
	case t.Kind() == reflect.Slice && begins == '[' && t.Elem().Kind() != reflect.Uint8:
		return c.list(t, &holder{up: in, field: f, elem: elem, kind: reflect.Slice})
	case t.Kind() == reflect.Map && begins == '{' && t.Key().Kind() == reflect.String && !reads(t.Key()):
		return c.table(t, &holder{up: in, field: f, elem: elem, kind: reflect.Map})
	case isNumber(t):
		w = number
	}
	if err := c.skip(); err != nil {
		return err
	}
	c.token(from, w, in, elem, f)
	return nil
}

func isNumber(t reflect.Type) bool {
	v := reflect.Zero(t)
	return v.CanInt() || v.CanUint() || t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32
}

// reads tells whether a type reads its text itself.
func reads(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// list walks a list.
func (c *compiler) list(t reflect.Type, h *holder) error {
	c.at++
	for i := int32(0); ; i++ {
		if i == 0 && c.space() == ']' {
			c.at++
			return nil
		}
		if err := c.value(t.Elem(), h, i, nil); err != nil {
			return err
		}
		if done, err := c.more(']'); done || err != nil {
			return err
		}
	}
}

// object walks a struct.
func (c *compiler) object(t reflect.Type, in *holder, elem int32, f *field) error {
	seen := map[string]bool{}
	return c.members(func(quoted []byte) error {
		name := string(quoted[1 : len(quoted)-1])
		m, err := c.member(t, name)
		if err != nil || seen[name] {
			return errUnlike
		}
		seen[name] = true
		return c.value(m.typ, in, elem, c.field(f, m))
	})
}

// field is the place of a member within a place.
func (c *compiler) field(up *field, m *member) *field {
	k := within{up, m}
	f := c.shared[k]
	if f == nil {
		f = &field{m.index}
		if up != nil {
			f.index = append(up.index[:len(up.index):len(up.index)], m.index...)
		}
		c.shared[k] = f
	}
	return f
}

// table walks a map, whose values are each read as a whole.
func (c *compiler) table(t reflect.Type, h *holder) error {
	seen := map[string]bool{}
	w := whole
	if isNumber(t.Elem()) && !reads(t.Elem()) {
		w = number
	}
	return c.members(func(quoted []byte) error {
		var name string
		if err := json.Unmarshal(quoted, &name); err != nil || seen[name] {
			return errUnlike
		}
		seen[name] = true
		c.plan.keys = append(c.plan.keys, unique.Make(name))
		c.space()
		from := c.at
		if err := c.skip(); err != nil {
			return err
		}
		c.token(from, w, h, int32(len(c.plan.keys)-1), nil)
		return nil
	})
}

// members walks the members of an object; each walks the value after its name.
func (c *compiler) members(each func(quoted []byte) error) error {
	c.at++
	if c.space() == '}' {
		c.at++
		return nil
	}
	for {
		if c.space() != '"' {
			return errUnlike
		}
		from := c.at
		if err := c.skip(); err != nil {
			return err
		}
		quoted := c.text[from:c.at]
		if c.space() != ':' {
			return errUnlike
		}
		c.at++
		if err := each(quoted); err != nil {
			return err
		}
		if done, err := c.more('}'); done || err != nil {
			return err
		}
	}
}

// more steps over a comma, or over the end.
func (c *compiler) more(end byte) (done bool, err error) {
	b := c.space()
	c.at++
	switch b {
	case end:
		return true, nil
	case ',':
		return false, nil
	}
	return false, errUnlike
}

// skip steps over a value.
func (c *compiler) skip() error {
	depth := 0
	for c.at < len(c.text) {
		switch b := c.text[c.at]; b {
		case '"':
			if err := c.quoted(); err != nil {
				return err
			}
			if depth == 0 {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return nil // of what it lies in
			}
			if depth--; depth == 0 {
				c.at++
				return nil
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return nil
			}
		}
		c.at++
	}
	if depth > 0 {
		return errUnlike
	}
	return nil
}

// quoted steps over a string.
func (c *compiler) quoted() error {
	for c.at++; c.at < len(c.text); c.at++ {
		switch c.text[c.at] {
		case '\\':
			c.at++
		case '"':
			c.at++
			return nil
		}
	}
	return errUnlike
}

// member finds a field as this program writes it. A type in which names may mean something else than
// a field of its own is not read so.
func (c *compiler) member(t reflect.Type, name string) (*member, error) {
	known := c.fields[t]
	if known == nil {
		known = map[string]*member{}
		for i := range t.NumField() {
			f := t.Field(i)
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous || strings.Contains(options, "string") {
				return nil, errUnlike
			}
			if tag == "" {
				tag = f.Name
			}
			if f.IsExported() && f.Tag.Get("json") != "-" {
				known[tag] = &member{f.Index, f.Type}
			}
		}
		c.fields[t] = known
	}
	if m := known[name]; m != nil {
		return m, nil
	}
	return nil, errUnlike
}
