package move

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *Entry {
	return &Entry{
		ID: 1<<63 + 1, Path: "a\n/\xff/-rf", Kind: File, Mode: 0o4755, UID: 1<<32 - 1, GID: 7, Mtime: Time{-62135596800, 999999999},
		Ctime: Time{15032385535, 1}, Size: 1 << 60, Node: Node{1 << 40, 1<<64 - 1}, Links: 3, Major: 8, Minor: 1 << 20, Target: "../\xfe",
		Xattrs: []Xattr{{"user.a", []byte{0, 1}}, {"security.selinux", []byte("x\x00")}}, First: "b", Linked: true, Sparse: true,
	}
}

func TestEntriesComeBackAsTheyWere(t *testing.T) {
	b := AppendEntry(nil, sample())
	got, rest, err := DecodeEntry(append(b, "rest"...))
	if err != nil || string(rest) != "rest" {
		t.Fatal(err, rest)
	}
	if d := cmp.Diff(sample(), got); d != "" {
		t.Error(d)
	}
	for n := range b {
		if _, _, err := DecodeEntry(b[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes were taken for an entry", n, len(b))
		}
	}
}

func TestEntriesThatLeaveTheRootAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Entry){
		"path":       func(e *Entry) { e.Path = "../x" },
		"first":      func(e *Entry) { e.First = "/etc/passwd" },
		"file root":  func(e *Entry) { e.Path = "" },
		"kind":       func(e *Entry) { e.Kind = 0 },
		"size":       func(e *Entry) { e.Size = -1 },
		"nanosecond": func(e *Entry) { e.Mtime.Nsec = 1e9 },
	} {
		e := sample()
		spoil(e)
		if _, _, err := DecodeEntry(AppendEntry(nil, e)); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func FuzzDecodeEntry(f *testing.F) {
	f.Add(AppendEntry(nil, sample()))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, _, err := DecodeEntry(b)
		if err != nil {
			return
		}
		again, rest, err := DecodeEntry(AppendEntry(nil, e))
		if err != nil || len(rest) > 0 {
			t.Fatalf("%+v: %v", e, err)
		}
		if d := cmp.Diff(e, again); d != "" {
			t.Error(d)
		}
	})
}
