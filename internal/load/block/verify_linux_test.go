package block

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// journaled makes a run that keeps a journal, and returns both.
func journaled(t *testing.T, s Spec) (*Journal, Spec) {
	t.Helper()
	target, s, err := Open(s, s.Path)
	if err != nil {
		t.Fatal(err)
	}
	if s.Journal, err = NewJournal(s); err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), s, target)
	if err = errors.Join(err, target.Close()); err != nil || r.Failed > 0 || r.WriteLatency.Count() == 0 {
		t.Fatalf("%d failed, %d writes, %v", r.Failed, r.Writes, err)
	}
	return s.Journal, s
}

func verified(t *testing.T, path string, j *Journal) Verdict {
	t.Helper()
	s := spec()
	s.Path, s.Shape.Area = path, 0
	target, s, err := Open(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	area := Span{0, s.Shape.Area}
	if j != nil {
		area = Span{j.From, j.Area}
	}
	var looked unit.Bytes
	v, err := Verify(context.Background(), target, area, j, 0, func(n unit.Bytes) { looked = n })
	if err != nil {
		t.Fatal(err)
	}
	if looked != area.Size || v.Checked != int64(area.Size) || v.Proven+v.Zero+v.Wrong != v.Checked {
		t.Fatalf("looked at %d of %d: %+v", looked, area.Size, v)
	}
	return v
}

// What runs write is proven, whichever way they write it: many threads at few
// blocks, requests of several sizes, and ones that are smaller than a sector or
// lie across two.
func TestVerifyProvesWhatRunsWrite(t *testing.T) {
	one := func(size unit.Bytes) []shape.SizeShare { return []shape.SizeShare{{Size: size, Share: 1}} }
	for name, change := range map[string]func(*Spec){
		"few blocks, many threads": func(s *Spec) { s.Threads, s.Depth, s.Shape.Area = 3, 8, 64*unit.KiB },
		"by calls":                 func(s *Spec) { s.Engine, s.Depth, s.Shape.Area = Calls, 4, 64*unit.KiB },
		"mixed sizes": func(s *Spec) {
			s.Shape.Sizes = []shape.SizeShare{{Size: 4096, Share: 0.5}, {Size: 65536, Share: 0.5}}
		},
		"half a kilobyte":     func(s *Spec) { s.Shape.Sizes = one(512) },
		"across sectors":      func(s *Spec) { s.Shape.Sizes = one(6 * unit.KiB) },
		"in order":            func(s *Spec) { s.Shape.Pattern, s.Shape.Sizes = shape.Sequential, one(256*unit.KiB) },
		"from somewhere":      func(s *Spec) { s.From, s.Shape.Area = 512, 100*unit.KiB },
		"with reads and sync": func(s *Spec) { s.Shape.Read, s.Sync, s.SyncEvery = 0.5, After, 7 },
		"direct":              func(s *Spec) { s.Direct = true },
		"compressible":        func(s *Spec) { s.Compress, s.Shape.Sizes = 4, one(16*unit.KiB) },
	} {
		t.Run(name, func(t *testing.T) {
			s := spec()
			s.Path, s.Run, s.Shape.Area, s.Shape.Read = fileOf(t, unit.MiB+1024), 99, unit.MiB, 0
			s.Requests, s.Duration = 700, time.Minute
			change(&s)
			if s.Direct {
				target, _, err := Open(s, s.Path)
				if errors.Is(err, ErrNoDirect) {
					t.Skip(err)
				}
				if err = errors.Join(err, target.Close()); err != nil {
					t.Fatal(err)
				}
			}
			before := time.Now()
			j, s := journaled(t, s)
			for _, j := range []*Journal{nil, j} {
				v := verified(t, s.Path, j)
				if v.Wrong != 0 || v.Unsure != 0 || len(v.Runs) != 1 || v.Runs[0].Run != 99 || v.Runs[0].Bytes != v.Proven {
					t.Fatalf("%+v", v)
				}
				if v.Runs[0].First.Before(before) || v.Runs[0].Last.After(time.Now()) || v.Runs[0].Last.Before(v.Runs[0].First) {
					t.Errorf("written %v to %v", v.Runs[0].First, v.Runs[0].Last)
				}
			}
			if n := int64(j.Acknowledged()) * int64(j.Block); n == 0 || n > int64(s.Shape.Area) {
				t.Errorf("%d bytes are in the journal", n)
			}
		})
	}
}

// injected is a file of 64 blocks of 16 KiB, all written by run 99 with a journal
// after run 98 had filled it.
func injected(t *testing.T) (path string, j *Journal, filled []byte) {
	t.Helper()
	s := spec()
	s.Path, s.Shape.Area, s.Shape.Read, s.Shape.Pattern = fileOf(t, unit.MiB), 0, 0, shape.Once
	s.Shape.Sizes, s.Requests, s.Duration = []shape.SizeShare{{Size: 16 * unit.KiB, Share: 1}}, 64, time.Minute
	s.Run = 98
	journaled(t, s)
	filled, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	s.Run = 99
	j, _ = journaled(t, s)
	return s.Path, j, filled
}

// staleBlock is what run 99 could have written to an address before its last
// write there.
func staleBlock(t *testing.T, address int64) []byte {
	t.Helper()
	s := spec()
	s.Run, s.Shape.Read, s.Shape.Sizes[0].Size = 99, 0, 16*unit.KiB
	d, err := newData(s, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.free(); err != nil {
			t.Error(err)
		}
	}()
	at := d.write(0, address, 16384, time.Second)
	return bytes.Clone(d.memory[at : at+16384])
}

func TestVerifyFindsEveryFault(t *testing.T) {
	const block = 16384
	for name, c := range map[string]struct {
		put  func(b, filled []byte) // on the file's content
		want Place
		seen bool // without a journal too
		text string
	}{
		"a bit": {func(b, _ []byte) { b[3*block+4096+777] ^= 4 }, Place{Offset: 3*block + 4096 + 512, Bytes: 512, Fault: Damaged}, true,
			"run 0000000000000063 wrote it at 20"},
		"a stamp": {func(b, _ []byte) { b[3*block+9] ^= 4 }, Place{Offset: 3 * block, Bytes: 4096, Fault: Unstamped}, true, "no stamp"},
		"somebody's data": {func(b, _ []byte) { copy(b[5*block:], bytes.Repeat([]byte("precious"), 1024)) },
			Place{Offset: 5 * block, Bytes: 8192, Fault: Unstamped}, true, "no run has written this"},
		"misdirected": {func(b, _ []byte) { copy(b[7*block:8*block], b[9*block:]) }, Place{Offset: 7 * block, Bytes: block, Fault: Misdirected}, true,
			"to offset 147456"},
		"shifted by half a sector": {func(b, _ []byte) { copy(b[8*block+512:9*block], bytes.Clone(b[8*block:])) },
			Place{Offset: 8*block + 512, Bytes: block - 512, Fault: Misdirected}, true, "to offset 131072"},
		"lost, zeroes": {func(b, _ []byte) { clear(b[11*block : 12*block]) }, Place{Offset: 11 * block, Bytes: block, Fault: Lost}, false, "here: zeroes"},
		"lost, what was there before": {func(b, filled []byte) { copy(b[12*block:13*block], filled[12*block:]) },
			Place{Offset: 12 * block, Bytes: block, Fault: Lost}, false, "here: run 0000000000000062 wrote it"},
		"stale": {func(b, _ []byte) { copy(b[13*block:], staleBlock(t, 13*block)) }, Place{Offset: 13 * block, Bytes: block, Fault: Stale}, false,
			"write 1 of thread 5"},
		"torn": {func(b, filled []byte) { copy(b[14*block+8192:15*block], filled[14*block+8192:]) },
			Place{Offset: 14*block + 8192, Bytes: 8192, Fault: Torn}, false, "was acknowledged last"},
		"the end": {func(b, _ []byte) { copy(b[63*block+12288:], make([]byte, 4096)) },
			Place{Offset: 63*block + 12288, Bytes: 4096, Fault: Torn}, false, "here: zeroes"},
	} {
		t.Run(name, func(t *testing.T) {
			path, j, filled := injected(t)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c.put(b, filled)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, j := range []*Journal{j, nil} {
				v := verified(t, path, j)
				if j == nil && !c.seen {
					if v.Wrong != 0 {
						t.Errorf("without a journal: %+v", v.Places)
					}
					continue
				}
				if len(v.Places) != 1 || v.Places[0].Offset != c.want.Offset || v.Places[0].Bytes != c.want.Bytes ||
					v.Places[0].Fault != c.want.Fault || !strings.Contains(v.Places[0].Detail, c.text) {
					t.Errorf("with a journal %v: %+v, want %+v with %q", j != nil, v.Places, c.want, c.text)
				}
			}
		})
	}
}

// A damaged byte is named to the byte.
func TestVerifyNamesTheByte(t *testing.T) {
	path, _, _ := injected(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[300001] ^= 0x80
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if v := verified(t, path, nil); len(v.Places) != 1 || !strings.Contains(v.Places[0].Detail, "from byte 300001 on") {
		t.Errorf("%+v", v.Places)
	}
}

// What cannot be read is a place, and the rest is looked at.
func TestVerifyGoesOnBehindAnError(t *testing.T) {
	path, j, _ := injected(t)
	s := spec()
	s.Path, s.Shape.Area = path, 0
	target, _, err := Open(s, "")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	target.file = failing{target.file, 40 * 16384, 41 * 16384}
	for _, j := range []*Journal{nil, j} {
		v, err := Verify(context.Background(), target, Span{0, unit.MiB}, j, 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Places) != 1 || v.Places[0] != (Place{40 * 16384, 16384, Unreadable, "input/output error"}) || v.Proven != 63*16384 {
			t.Errorf("%+v", v)
		}
	}
}

// failing gives an error for every read that touches a part.
type failing struct {
	openFile
	from, to int64
}

func (f failing) readAt(b []byte, off int64) int32 {
	if off < f.to && off+int64(len(b)) > f.from {
		return -5
	}
	return f.openFile.readAt(b, off)
}

// A write that failed, or was not heard of again, may have happened or not.
func TestVerifyAcceptsWhatWasNotHeardOf(t *testing.T) {
	path, j, filled := injected(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[4*16384+4096:6*16384], filled[4*16384+4096:])
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	j.ended(4*16384, 16384, 0, false)
	if !j.claim(5*16384, 16384) || j.claim(5*16384, 16384) {
		t.Fatal("a block is claimed once")
	}
	if v := verified(t, path, j); v.Wrong != 0 || v.Unsure != 2*16384 || j.Acknowledged() != 62 {
		t.Errorf("%+v, %d", v, j.Acknowledged())
	}
	j.release(5*16384, 16384)
	if v := verified(t, path, j); v.Wrong != 16384 || v.Places[0].Fault != Lost {
		t.Errorf("%+v", v)
	}
}
