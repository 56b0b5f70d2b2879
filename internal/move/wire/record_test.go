package wire

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
)

// half is a connection that reads what it was given and keeps what is written.
type half struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (h *half) Read(b []byte) (int, error)  { return h.in.Read(b) }
func (h *half) Write(b []byte) (int, error) { return h.out.Write(b) }

func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 % 251)
	}
	return b
}

func suites() map[string]suite {
	return map[string]suite{"AES-128-GCM": suiteOf(tls.TLS_AES_128_GCM_SHA256), "ChaCha20-Poly1305": suiteOf(tls.TLS_CHACHA20_POLY1305_SHA256)}
}

// Records are byte for byte those that another implementation makes of the same keys
// (testdata/records.py), also past a change of the key.
func TestRecordsAreThoseOfTheVectors(t *testing.T) {
	b, err := os.ReadFile("testdata/records.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Suite, Key string
		PerKey     uint64 `json:"per_key"`
		Records    []struct {
			Plain          int
			SHA256, Record string
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) != 2 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	for _, c := range cases {
		key, err := hex.DecodeString(c.Key)
		if err != nil {
			t.Fatal(err)
		}
		to := &half{}
		r, err := newRecords(to, suites()[c.Suite], slices.Clone(key), slices.Clone(key))
		if err != nil {
			t.Fatal(err)
		}
		r.out.perKey, r.from.perKey = c.PerKey, c.PerKey
		var all []byte
		for i, want := range c.Records {
			at := to.out.Len()
			if n, err := r.Write(pattern(want.Plain)); n != want.Plain || err != nil {
				t.Fatal(n, err)
			}
			got := to.out.Bytes()[at:]
			if sum := sha256.Sum256(got); hex.EncodeToString(sum[:]) != want.SHA256 || want.Record != "" && hex.EncodeToString(got) != want.Record {
				t.Errorf("%s: record %d of %d bytes is %x…", c.Suite, i, want.Plain, got[:8])
			}
			all = append(all, pattern(want.Plain)...)
		}
		to.in = &to.out
		if back, err := io.ReadAll(r); !bytes.Equal(back, all) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %d bytes come back of %d, %v", c.Suite, len(back), len(all), err)
		}
	}
}

// stream is the records of these sizes of plain bytes, and the plain bytes.
func stream(t testing.TB, s suite, key []byte, sizes ...int) (records [][]byte, plain []byte) {
	t.Helper()
	out, err := newSealer(s, slices.Clone(key))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range sizes {
		p := pattern(n + i)[i:]
		r, err := out.seal(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		records, plain = append(records, r), append(plain, p...)
	}
	return records, plain
}

// read is all that comes of records, in pieces of a size.
func read(t testing.TB, s suite, key []byte, from io.Reader, piece int) ([]byte, error) {
	t.Helper()
	r, err := newRecords(&half{in: from}, s, slices.Clone(key), slices.Clone(key))
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	b := make([]byte, piece)
	for {
		n, err := r.Read(b)
		got = append(got, b[:n]...)
		if err != nil {
			if n, again := r.Read(b); n != 0 || again == nil {
				t.Errorf("after %v: %d bytes, %v", err, n, again)
			}
			return got, err
		}
	}
}

// Whatever somebody on the way does to records, no byte comes out that was not sent at that
// place, and the end is an error.
func TestChangedRecordsAreRefused(t *testing.T) {
	sizes := []int{100, 70000, 1, recordSize, 2000}
	for name, s := range suites() {
		key := pattern(s.keySize)
		records, plain := stream(t, s, key, sizes...)
		flip := func(record, at int) func([][]byte) [][]byte {
			return func(r [][]byte) [][]byte { r[record][(at+len(r[record]))%len(r[record])] ^= 4; return r }
		}
		other, _ := stream(t, s, pattern(2 * s.keySize)[s.keySize:], sizes...)
		for what, attack := range map[string]func([][]byte) [][]byte{
			"kind":            flip(1, 0),
			"length":          flip(1, 3),
			"a larger length": flip(1, 1),
			"first byte":      flip(1, recordHead),
			"last byte":       flip(3, -recordTag-1),
			"tag":             flip(3, -1),
			"dropped":         func(r [][]byte) [][]byte { return slices.Delete(r, 1, 2) },
			"first dropped":   func(r [][]byte) [][]byte { return r[1:] },
			"repeated":        func(r [][]byte) [][]byte { return slices.Insert(r, 2, r[1]) },
			"reordered":       func(r [][]byte) [][]byte { r[1], r[2] = r[2], r[1]; return r },
			"of another key":  func(r [][]byte) [][]byte { r[2] = other[2]; return r },
			"empty":           func(r [][]byte) [][]byte { return slices.Insert(r, 1, make([]byte, recordHead+recordTag)) },
			"cut in a record": func(r [][]byte) [][]byte { r[3] = r[3][:500]; return r[:4] },
			"cut in a head":   func(r [][]byte) [][]byte { r[3] = r[3][:2]; return r[:4] },
			"cut in a tag":    func(r [][]byte) [][]byte { r[4] = r[4][:len(r[4])-1]; return r },
			"cut between":     func(r [][]byte) [][]byte { return r[:3] },
			"appended to":     func(r [][]byte) [][]byte { return append(r, []byte{0, 0, 0, 1, 7}) },
			"nothing":         func(r [][]byte) [][]byte { return r },
		} {
			var mine [][]byte
			for _, r := range records {
				mine = append(mine, slices.Clone(r))
			}
			text := bytes.Join(attack(mine), nil)
			for _, piece := range []int{1 << 21, 4096, 700} {
				got, err := read(t, s, key, bytes.NewReader(text), piece)
				if errors.Is(err, io.EOF) || !bytes.HasPrefix(plain, got) || what != "nothing" && what != "appended to" && len(got) == len(plain) {
					t.Errorf("%s, %s, read by %d: %d of %d bytes, %v", name, what, piece, len(got), len(plain), err)
				}
			}
		}
	}
}

// A record that could not be sent whole is the last: what follows it would be taken for
// another's.
func TestNothingFollowsABrokenRecord(t *testing.T) {
	near, far := net.Pipe()
	s := suites()["AES-128-GCM"]
	r, err := newRecords(near, s, pattern(16), pattern(16))
	if err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	if _, err := r.Write(pattern(10)); err == nil {
		t.Fatal("written to nobody")
	}
	r.Conn = &half{}
	if n, err := r.Write(pattern(10)); n != 0 || err == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// Whatever bytes come, nothing is taken for a record that was not sealed under the key.
func FuzzRecords(f *testing.F) {
	s := suites()["AES-128-GCM"]
	records, plain := stream(f, s, pattern(16), 30, 2, 300)
	f.Add(bytes.Join(records, nil))
	f.Add([]byte{21, 3, 3, 0, 2, 2, 40})
	f.Add([]byte{0, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := read(t, s, pattern(16), bytes.NewReader(text), 1<<10); err == nil || !bytes.HasPrefix(plain, got) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A handshake reads its own records and not one byte of what follows them, however it comes.
func TestAHandshakeLeavesWhatFollows(t *testing.T) {
	text := append([]byte{22, 3, 3, 0, 3, 'a', 'b', 'c', 20, 3, 3, 0, 0, 23, 3, 3, 0, 2, 'd', 'e'}, "not TLS"...)
	from := bytes.NewReader(text)
	h := &handshaking{Conn: &half{in: from}}
	for _, want := range []string{"\x16\x03\x03\x00\x03", "abc", "\x14\x03\x03\x00\x00", "\x17\x03\x03\x00\x02", "de"} {
		b := make([]byte, 100)
		if n, err := h.Read(b); err != nil || string(b[:n]) != want {
			t.Fatalf("%q, %v, want %q", b[:n], err, want)
		}
	}
	if rest, _ := io.ReadAll(from); string(rest) != "not TLS" {
		t.Errorf("left %q", rest)
	}
}
