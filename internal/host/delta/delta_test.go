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
	frame := bytes.Repeat([]byte{place}, MaxText/2)
	state := state{frame: frame, slots: make([]slot, len(frame)), chances: newChances()}
	p, from := newPacker(), state.clone()
	p.bit(&from.chances.same[0], 0)
	others := grown{}
	for i := range from.slots {
		p.bit(&from.chances.literal[0], 0)
		from.chances.growth(&p, &from.slots[i], &others, 123456789012345678)
	}
	u := newUnpacker(p.end())
	if text, _, err := state.unpack(&u, nil, nil); !errors.Is(err, ErrBroken) {
		t.Errorf("a text of %d bytes, %v", len(text), err)
	}
}

// Every growth comes out as it went in, whatever came before it.
func TestGrowths(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var in []int64
	for i := range 20000 {
		d := rng.Int64N(1 << rng.IntN(60))
		in = append(in, 0, d, -d, d/1e3*1e3, Rounded(d), d/1e7*1e7, int64(i), d)
	}
	p, k, others := newPacker(), newChances(), &grown{}
	slots := make([]slot, 8)
	for i, d := range in {
		k.growth(&p, &slots[i%len(slots)], others, d)
	}
	u, back := newUnpacker(p.end()), newChances()
	slots, others = make([]slot, 8), &grown{}
	for i, d := range in {
		if got := back.growth(&u, &slots[i%len(slots)], others, 0); got != d {
			t.Fatalf("growth %d: %d became %d", i, d, got)
		}
	}
}

// A frame that lost or got a part in its middle keeps what is known of the numbers before and after it.
func TestNumbersAreCarriedToAnotherFrame(t *testing.T) {
	frame := func(s string) []byte { return []byte(strings.ReplaceAll(s, "0", "\x00")) }
	old := []slot{{last: 1}, {last: 2}, {last: 3}, {last: 4}}
	for now, want := range map[string]string{"a0b0c0d0": "1 2 3 4", "a0c0d0": "1 3 4", "a0b0x0c0d0": "1 2 0 3 4", "0": "4", "": "", "a0b0c0d0e": "1 2 3 4", "x": ""} {
		var got []string
		f := frame(now)
		head, tail := shared(frame("a0b0c0d0"), f)
		for _, s := range carry(old, f[:head], f[len(f)-tail:], strings.Count(now, "0")) {
			got = append(got, fmt.Sprint(s.last))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", now, text, want)
		}
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
	w := &Writer{}
	for _, text := range texts(2) {
		b, err := w.Pack([][]byte{text}, true)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes, b.Data)
	}
	f.Fuzz(func(t *testing.T, size int, data []byte) {
		r := NewReader(&Decoder{})
		n := 0
		_ = r.Unpack(Batch{Fresh: true, Bytes: size, Data: data}, func(text []byte) error { // refused or not, it is bounded
			if n++; len(text) > MaxText+mostDigits+2 {
				t.Fatalf("%d bytes of text", len(text))
			}
			if n > 100 {
				return errors.New("enough")
			}
			return nil
		})
	})
}

// What is rounded is never more than it was, less by no more than 1/256, and takes few bits.
func TestRounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	p, k := newPacker(), newChances()
	slots := make([]slot, 100)
	const n = 20000
	for i := range n {
		d := 1 + rng.Int64N(1<<(1+rng.IntN(60)))
		r := Rounded(d)
		if r > d || d-r > d/256 || Rounded(-d) != -r || Rounded(r) != r && r%1000 != 0 {
			t.Fatalf("%d is rounded to %d", d, r)
		}
		k.growth(&p, &slots[i%len(slots)], &grown{}, Rounded(1e9+d%1e8))
	}
	if each := float64(8*len(p.end())) / n; each > 12 {
		t.Errorf("a rounded growth takes %.1f bits", each)
	}
}
