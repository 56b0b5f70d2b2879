package kernel

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A socket's address holds 107 bytes; where a user keeps what runs may be deeper.
func TestUnixSocketsAtPathsOfAnyLength(t *testing.T) {
	for _, depth := range []int{0, 1, 3} {
		dir := t.TempDir()
		for range depth {
			dir = filepath.Join(dir, strings.Repeat("d", 90))
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "in")
		if _, err := DialUnix(t.Context(), path); err == nil {
			t.Fatal("nobody listens, and it connects")
		}
		ln, err := ListenUnix(path)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode() != fs.ModeSocket|0o600 {
			t.Errorf("%v, %v", st, err)
		}
		if _, err := ListenUnix(path); err == nil {
			t.Error("two listen on one socket")
		}
		said := make(chan string, 1)
		go func() {
			c, err := ln.Accept()
			if err != nil {
				said <- err.Error()
				return
			}
			b, _ := io.ReadAll(c)
			said <- string(b)
		}()
		c, err := DialUnix(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("here")); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if got := <-said; got != "here" {
			t.Error(got)
		}
		if err := ln.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the socket is left: %v", err)
		}
	}
}
