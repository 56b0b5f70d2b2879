// Package alike reads JSON texts of which each resembles the one before, as samples of one host do:
// where a text differs from the one before in its numbers alone, only what belongs to those numbers
// is read, into a copy of the value of the one before. Parts of a value that did not change are shared
// with the values before it, so that nobody may change what a value points to.
//
// It refuses whatever it is not sure of, and then its caller decodes the text as a whole: a value
// that comes out of a Reader is the one that encoding/json would give for the same text and type.
// What it keeps is bounded whatever the texts are.
package alike

import (
	"bytes"
	"errors"
	"reflect"
)

// Bounds on the texts that are read so. A sample of 16 cores and 50 connections is 40 kB of text with
// 3,000 numbers, of which a Reader keeps some 250 kB; a text made for it could have it keep 1.3 MB,
// beside the last value.
const (
	maxText   = 96 << 10 // bytes
	maxTokens = 6000
)

// Reader reads texts into values of one type. The zero value is ready; it is for one goroutine at a
// time.
type Reader[T any] struct {
	text  []byte // the text before
	value T      // what it says
	known bool   // there is one
	tried bool   // its like was looked at, and cannot be read so
	plan  *plan  // how texts like it are read; nil: they are not
}

// Read reads a text that differs in its numbers alone from the one before; false: it does not, or it
// is not certain what it says.
func (r *Reader[T]) Read(text []byte) (T, bool) {
	if r.plan == nil || r.plan.apply(text, r.text, reflect.ValueOf(&r.value).Elem()) != nil {
		r.plan = nil
		return *new(T), false
	}
	r.text = append(r.text[:0], text...)
	return r.value, true
}

// Learn takes a text that was decoded as a whole, and its value. Texts like it are read quickly from
// the second on: of many a connection that came is gone with the next.
func (r *Reader[T]) Learn(text []byte, value T) {
	again := r.known && resemble(r.text, text)
	if !again {
		r.tried = false
	}
	r.plan = nil
	if r.known = len(text) <= maxText; !r.known {
		*r = Reader[T]{}
		return
	}
	r.text, r.value = append(r.text[:0], text...), value
	if again && !r.tried {
		p, err := planOf(r.text, reflect.TypeFor[T]())
		if r.tried = err != nil; err == nil {
			r.plan = p
		}
	}
}

// Forget has the next text read as a whole.
func (r *Reader[T]) Forget() { *r = Reader[T]{} }

// errUnlike is of a text that is not like the one before, or not certain.
var errUnlike = errors.New("not like the text before")

// span is a piece of a text.
type span struct{ from, to int32 }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// digits are the runs of digits of a text.
func digits(text []byte) (out []span) {
	for i := 0; i < len(text); {
		if !digit(text[i]) {
			i++
			continue
		}
		from := i
		for i < len(text) && digit(text[i]) {
			i++
		}
		out = append(out, span{int32(from), int32(i)})
	}
	return out
}

// resemble tells whether texts differ in their runs of digits alone.
func resemble(a, b []byte) bool {
	x, y := digits(a), digits(b)
	if len(x) != len(y) {
		return false
	}
	i, j := int32(0), int32(0)
	for k := range x {
		if !bytes.Equal(a[i:x[k].from], b[j:y[k].from]) {
			return false
		}
		i, j = x[k].to, y[k].to
	}
	return bytes.Equal(a[i:], b[j:])
}
