package block

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

func journalOf(t testing.TB) *Journal {
	t.Helper()
	s := Spec{Path: "x", From: 4096, Run: 7, Shape: shape.Shape{Sizes: []shape.SizeShare{{Size: 4096, Share: 1}}, Area: 10*4096 + 512}}
	j, err := NewJournal(s)
	if err != nil {
		t.Fatal(err)
	}
	j.Ended, j.Synced = time.Unix(1e9, 0).UTC(), true
	j.ended(3*4096, 8192, 12, true)
	j.ended(9*4096, 4096, 0, false)
	return j
}

func TestJournalRoundTrip(t *testing.T) {
	j := journalOf(t)
	var b bytes.Buffer
	n, err := j.WriteTo(&b)
	if err != nil || n != int64(b.Len()) {
		t.Fatalf("%d bytes, %v", n, err)
	}
	got, err := ReadJournal(bytes.NewReader(b.Bytes()))
	if err != nil || got.JournalHeader != j.JournalHeader {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, c := range []struct {
		address int64
		request uint64
		sure    bool
	}{{0, 0, false}, {4096, 0, false}, {4 * 4096, 12, true}, {5*4096 + 4000, 12, true}, {6 * 4096, 0, false}, {10 * 4096, 0, false}, {1 << 40, 0, false}} {
		if request, sure := got.Last(c.address); request != c.request || sure != c.sure {
			t.Errorf("at %d: %d, %v", c.address, request, sure)
		}
	}
	for i := range b.Len() {
		damaged := bytes.Clone(b.Bytes())
		damaged[i] ^= 1
		if _, err := ReadJournal(bytes.NewReader(damaged)); err == nil {
			t.Fatalf("with byte %d changed it is taken", i)
		}
	}
}

func TestJournalRefuses(t *testing.T) {
	for want, change := range map[string]func(*Spec){
		"no multiple of 4096":  func(s *Spec) { s.Shape.Sizes = []shape.SizeShare{{Size: 4096, Share: 0.5}, {Size: 6144, Share: 0.5}} },
		"want multiples":       func(s *Spec) { s.Shape.Sizes[0].Size = 1000 },
		"want multiples of":    func(s *Spec) { s.From = 100 },
		"want at most 3355443": func(s *Spec) { s.Shape.Area = unit.TiB },
	} {
		s := spec()
		change(&s)
		if _, err := NewJournal(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func FuzzReadJournal(f *testing.F) {
	var b bytes.Buffer
	if _, err := journalOf(f).WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("{}\n1234"))
	f.Fuzz(func(t *testing.T, in []byte) {
		j, err := ReadJournal(bytes.NewReader(in))
		if err != nil {
			return
		}
		for _, at := range []int64{0, int64(j.From), int64(j.From + j.Area), 1 << 62} {
			j.Last(at)
			j.marked(at)
		}
		var out bytes.Buffer
		if _, err := j.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
	})
}

// Bytes of a target are outside bytes: whatever lies there is judged.
func FuzzLook(f *testing.F) {
	b := make([]byte, 3*sector)
	Stamp{Run: 7, Address: 8192, Request: 1, Part: sector << 32}.put(b[sector:])
	f.Add(b)
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, j := range []*Journal{nil, journalOf(t)} {
			got := look(in, 4096, 4096, j)
			if got.checked != int64(len(in)) || got.proven+got.blank+got.wrong != got.checked {
				t.Fatalf("%d bytes: %+v", len(in), got)
			}
		}
	})
}
