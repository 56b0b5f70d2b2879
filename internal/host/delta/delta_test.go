package delta

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

// texts of a host whose counters grow, of which a connection comes and goes.
func texts(n int) (out [][]byte) {
	rng := rand.New(rand.NewPCG(1, 1))
	sent := 1 << 40
	for i := range n {
		sent += rng.IntN(1 << 20)
		conns := ""
		if i%7 > 2 {
			conns = fmt.Sprintf(`,"conns":[{"local":"10.0.0.1:%d","rtt":%d,"rate":%g}]`, 700+i, rng.IntN(1e6), rng.Float64()*1e10)
		}
		out = append(out, fmt.Appendf(nil, `{"v":1,"at":%d,"host_at":"2026-11-25T21:05:%02d.%09dZ","sent":%d,"huge":18446744073709551615,"minus":-%d%s}`, i*1e8, i%60, rng.IntN(1e9), sent, rng.IntN(9), conns))
	}
	return out
}

func unpacked(r *Reader, b Batch) (out [][]byte, err error) {
	err = r.Unpack(b, func(text []byte) error {
		out = append(out, bytes.Clone(text))
		return nil
	})
	return out, err
}

func TestWhatIsPackedComesOut(t *testing.T) {
	w := &Writer{}
	r := NewReader(&Decoder{})
	all := texts(500)
	plain, packed := 0, 0
	for i := 0; i < len(all); i += 5 {
		b, err := w.Pack(all[i:i+5], i%100 == 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpacked(r, b)
		if err != nil {
			t.Fatal(err)
		}
		for k, text := range all[i : i+5] {
			plain += len(text)
			if string(got[k]) != string(text) {
				t.Fatalf("%s\nbecame\n%s", text, got[k])
			}
		}
		packed += len(b.Data)
	}
	t.Logf("%d bytes of %d", packed, plain)
	if packed > plain/2 { // half of each is random numbers
		t.Errorf("%d bytes of %d", packed, plain)
	}
}

// Readers that share a decoder do not mix what they read, and hold nothing of each other's.
func TestReadersShareADecoder(t *testing.T) {
	var d Decoder
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			w, r := &Writer{}, NewReader(&d)
			for n := range 50 {
				text := fmt.Appendf(nil, `{"host":"h%d","n":%d,"x":"%s"}`, i, n, strings.Repeat("x", 100*i))
				b, err := w.Pack([][]byte{text}, n%20 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := unpacked(r, b); err != nil || len(got) != 1 || !bytes.Equal(got[0], text) {
					t.Errorf("%q became %q, %v", text, got, err)
				}
			}
		})
	}
	group.Wait()
}

// A batch that is lost takes those after it along, up to a fresh one, and nothing is made up.
func TestAfterALossOnlyAFreshBatchIsRead(t *testing.T) {
	w := &Writer{}
	r := NewReader(&Decoder{})
	all := texts(4)
	var batches []Batch
	for i, fresh := range []bool{true, false, false, true} {
		b, err := w.Pack(all[i:i+1], fresh)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, b)
	}
	if _, err := unpacked(r, batches[1]); !errors.Is(err, ErrBroken) {
		t.Errorf("without its beginning: %v", err)
	}
	if _, err := unpacked(r, batches[0]); err != nil {
		t.Error(err)
	}
	cut := batches[1]
	cut.Data = cut.Data[:len(cut.Data)/2]
	if _, err := unpacked(r, cut); !errors.Is(err, ErrBroken) {
		t.Errorf("half a batch: %v", err)
	}
	if _, err := unpacked(r, batches[2]); !errors.Is(err, ErrBroken) {
		t.Errorf("after half a batch: %v", err)
	}
	if got, err := unpacked(r, batches[3]); err != nil || string(got[0]) != string(all[3]) {
		t.Errorf("%s, %v", got, err)
	}
}

// What claims to be a batch unpacks to no more than the bounds.
func TestBoundsOfABatch(t *testing.T) {
	w := &Writer{}
	r := NewReader(&Decoder{})
	for name, bad := range map[string][][]byte{
		"a zero byte": {[]byte("a\x00b")}, "a long text": {[]byte(strings.Repeat("x", MaxText+1))}, "many": {bytes.Repeat([]byte("x"), MaxText), bytes.Repeat([]byte("y"), MaxText), []byte("z")},
	} {
		if _, err := w.Pack(bad, true); err == nil {
			t.Errorf("%s is packed", name)
		}
	}
	b, err := w.Pack(texts(1), true)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-1, MaxRaw + 1, b.Bytes + 1} {
		more := b
		more.Bytes = n
		if _, err := unpacked(r, more); !errors.Is(err, ErrBroken) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	// A frame of places, each of them a number of 18 digits.
	state := numbers{frame: make([]byte, MaxText/2), last: make([]int64, MaxText/2)}
	var raw []byte
	raw = append(raw, 0)
	for range MaxText / 2 {
		raw = append(raw, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)
	}
	if text, _, err := state.unpack(nil, raw); !errors.Is(err, ErrBroken) {
		t.Errorf("a text of %d bytes, %v", len(text), err)
	}
}

func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":002,"b":-5}`))
	f.Add([]byte(""), []byte("999999999999999999"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		w := &Writer{}
		r := NewReader(&Decoder{})
		in := [][]byte{a, b, a}
		batch, err := w.Pack(in, true)
		if err != nil {
			return
		}
		out, err := unpacked(r, batch)
		if err != nil || len(out) != 3 || !bytes.Equal(out[0], a) || !bytes.Equal(out[1], b) || !bytes.Equal(out[2], a) {
			t.Errorf("%q became %q, %v", in, out, err)
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte("\x03a\x00\x05"), uint8(1))
	f.Fuzz(func(t *testing.T, raw []byte, _ uint8) {
		var n numbers
		for len(raw) > 0 {
			text, rest, err := n.unpack(nil, raw)
			if err != nil {
				return
			}
			if len(text) > MaxText+20 || len(rest) >= len(raw) {
				t.Fatalf("%d bytes of text, %d of %d left", len(text), len(rest), len(raw))
			}
			raw = rest
		}
	})
}
