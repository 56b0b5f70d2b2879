package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What a user names may be a pipe that never says anything, a device without an end, a
// directory, or huge: each is answered, none holds linerate up or fills its memory.
func TestReadNamedAnswersWhateverLiesThere(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"idle", "held"} {
		if err := unix.Mkfifo(at(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holder, err := os.OpenFile(at("held"), os.O_RDWR, 0) // somebody who never writes
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	if err := os.WriteFile(at("huge"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(at("huge"), 1<<40); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		at("idle"):  "nobody wrote into it",
		at("held"):  "nobody wrote into it",
		at("huge"):  "more than 1 KiB",
		dir:         "a directory",
		"/dev/zero": "a device",
		"/dev/null": "a device",
	} {
		if _, err := readNamed(path, 1<<10, time.Millisecond); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("named %s: %v, want %q", path, err, want)
		}
		if _, err := ReadPrivate(path, 1<<10, 0o077); err == nil || path != at("huge") && !errors.Is(err, ErrNotPlain) {
			t.Errorf("private %s: %v", path, err)
		}
	}
}

// A shell's <(command) is a pipe behind a link: what is written into it is read to its end.
func TestReadNamedReadsAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text := bytes.Repeat([]byte("a: 1\n"), 10000) // more than the pipe holds
	done := make(chan error, 1)
	go func() {
		_, err := w.Write(text)
		done <- errors.Join(err, w.Close())
	}()
	link := filepath.Join(t.TempDir(), "63")
	if err := os.Symlink(fmt.Sprint("/proc/self/fd/", r.Fd()), link); err != nil {
		t.Fatal(err)
	}
	b, err := ReadNamed(link, 1<<20)
	if err != nil || !bytes.Equal(b, text) {
		t.Errorf("%d bytes of %d, %v", len(b), len(text), err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestReadPrivateRefusesWhatOthersMayRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("hush"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := ReadPrivate(file, 4, 0o077); err != nil || string(b) != "hush" {
		t.Errorf("%q, %v", b, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPrivate(file, 4, 0o077); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("its group may read it: %v", err)
	}
	if _, err := ReadPrivate(file, 4, 0o007); err != nil {
		t.Errorf("its group may read it, which was allowed: %v", err)
	}
}

// A FIFO among the files of a host, such as in /etc/sysctl.d, does not stop who reads them.
func TestRootReadsNoMoreOfAPipeThanIsThere(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := Root(dir).ReadFile("/pipe"); len(b) != 0 {
		t.Errorf("%q, %v", b, err)
	}
}
