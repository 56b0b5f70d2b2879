package host

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func TestLinesRoundTrip(t *testing.T) {
	var b bytes.Buffer
	l := newLines(&b, nopCloser{&b})
	sent := []string{"{}", strings.Repeat("x", 200_000), ""}
	for _, m := range sent {
		if err := l.Send([]byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range sent {
		got, err := l.Recv()
		if err != nil || string(got) != m {
			t.Fatalf("received %d bytes, %v; want %d", len(got), err, len(m))
		}
	}
	if _, err := l.Recv(); err != io.EOF {
		t.Errorf("at the end: %v, want io.EOF", err)
	}
}

func TestLinesBounds(t *testing.T) {
	l := newLines(strings.NewReader(strings.Repeat("x", 101)+"\n"), nopCloser{io.Discard})
	l.max = 100
	if _, err := l.Recv(); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("received a message above the bound: %v", err)
	}
	if err := l.Send(make([]byte, 101)); err == nil {
		t.Error("sent a message above the bound")
	}
	if err := l.Send([]byte("a\nb")); err == nil {
		t.Error("sent a message with a line break")
	}
	endless := newLines(forever{}, nopCloser{io.Discard})
	endless.max = 1 << 20
	if _, err := endless.Recv(); err == nil || cap(endless.buf) > 4<<20 {
		t.Errorf("an endless message: %v, %d bytes held", err, cap(endless.buf))
	}
	if _, err := newLines(strings.NewReader("half"), nopCloser{io.Discard}).Recv(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a message: %v", err)
	}
}

type forever struct{}

func (forever) Read(b []byte) (int, error) { return len(b), nil }

func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\n[]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := newLines(bytes.NewReader(b), nopCloser{io.Discard})
		l.max = 64
		for {
			m, err := l.Recv()
			if err != nil {
				return
			}
			if len(m) > 64 || bytes.IndexByte(m, '\n') >= 0 {
				t.Fatalf("received %q", m)
			}
		}
	})
}
