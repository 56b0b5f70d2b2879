package load

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// What arrives is what was to be sent, whole writes one after the other, and a peer
// that is gone ends it without a signal: from a directory, and from memory where there
// is none.
func TestSendFile(t *testing.T) {
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		sendFileFrom(t, dir)
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

func sendFileFrom(t *testing.T, dir string) {
	t.Helper()
	content := bytes.Repeat([]byte("0123456789abcdef"), 4096)
	m, err := newCachedFile(content, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	w, err := newWire(c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	n, err := w.sendFile(m, 1000)
	if err != nil || n != 1000 {
		t.Fatalf("sent %d of 1000: %v", n, err)
	}
	if n, err = w.sendFile(m, len(content)); err != nil || n < 1 {
		t.Fatalf("sent %d: %v", n, err)
	}
	got := make([]byte, 1000+n)
	if _, err := io.ReadFull(peer, got); err != nil || !bytes.Equal(got[:1000], content[:1000]) || !bytes.Equal(got[1000:], content[:n]) {
		t.Errorf("something else arrived: %v", err)
	}
	if err := peer.Close(); err != nil {
		t.Fatal(err)
	}
	for range 1000 { // the first one may still find room
		if _, err = w.sendFile(m, len(content)); err != nil {
			break
		}
	}
	if err != errEnded {
		t.Errorf("the peer is gone: %v", err)
	}
}

// Every stream of a source sends the same file.
func TestSendFileOfAWorker(t *testing.T) {
	sink, source := testSpec(Sink), testSpec(Source)
	source.SendFile = true
	k, s := pair(t, sink, source)
	k.begin()
	s.begin()
	sent, got := s.result(), k.result()
	if got.BytesAfterWarmup == 0 || got.Bytes > sent.Bytes || sent.Bytes-sent.Unacked-got.Bytes > got.RecvSpace {
		t.Errorf("sent %d, not acknowledged %d, received %d", sent.Bytes, sent.Unacked, got.Bytes)
	}
	for i, st := range got.Streams {
		if st.Bytes == 0 {
			t.Errorf("stream %d moved nothing", i)
		}
	}
}
