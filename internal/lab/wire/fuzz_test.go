package wire

import (
	"bytes"
	"strings"
	"testing"
)

// Whatever a helper is asked, it answers or ends; whatever it answers, its caller gets a
// result or an error.
func FuzzWire(f *testing.F) {
	f.Add([]byte(`{"op":"add","args":{"a":1,"b":2}}` + "\n"))
	f.Add([]byte(`{"result":3}{"error":"no"}`))
	f.Add([]byte(strings.Repeat("[", 100)))
	handlers := map[string]Handler{"add": Op(func(a struct{ A, B int }) (int, error) { return a.A + a.B, nil })}
	f.Fuzz(func(t *testing.T, b []byte) {
		var out bytes.Buffer
		_ = Serve(bytes.NewReader(b), &out, handlers) // errors are fine
		if out.Len() > 0 && !strings.HasPrefix(out.String(), "{") {
			t.Errorf("%q is answered by %q", b, out.String())
		}
		var sum int
		_ = Ask(&duplex{in: bytes.NewReader(b)}, "add", nil, &sum)
	})
}

// duplex is a connection whose other end has said all that it will.
type duplex struct {
	bytes.Buffer
	in *bytes.Reader
}

func (d *duplex) Read(b []byte) (int, error) { return d.in.Read(b) }
