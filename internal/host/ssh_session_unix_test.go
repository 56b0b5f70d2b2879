//go:build unix

package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"

	"linerate/internal/lab/labtest"
)

// here is an ssh that has the command executed on this host, with other programs and another
// directory for temporary files; what it was given is in its note.
func here(t *testing.T, path string) (s Ssh, tmp string) {
	t.Helper()
	dir := t.TempDir()
	tmp = filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "ssh")
	text := "#!/bin/sh\nfor last; do :; done\nTMPDIR=" + tmp + " PATH=" + path + " exec sh -c \"$last\"\n"
	labtest.Program(t, program, strings.NewReader(text))
	return Ssh{Command: []string{program}}, tmp
}

func sessionHere(t *testing.T, path string) (*sshSession, place, string) {
	t.Helper()
	s, tmp := here(t, path)
	x, p, err := s.log(t.Context(), Name{Reach: SSH, Host: "server1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.close() })
	return x, p, tmp
}

func someProgram() []byte {
	b := make([]byte, 3<<20)
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(b[:1<<20]) // the rest can be compressed
	return b
}

// greedy is a PATH with a head that takes what follows the bytes that it is asked for, as BusyBox has it, and
// those of FreeBSD and macOS.
func greedy(t *testing.T) string {
	t.Helper()
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("no busybox here")
	}
	dir := t.TempDir()
	labtest.Program(t, filepath.Join(dir, "head"), strings.NewReader("#!/bin/sh\nexec "+busybox+" head \"$@\"\n"))
	return dir + ":" + os.Getenv("PATH")
}

// What is sent in two parts arrives as it was, plain and compressed, and its hash is the host's.
func TestSessionTakesTheBinary(t *testing.T) {
	takesTheBinary(t, os.Getenv("PATH"), true)
}

// So it does where each piece has to be waited for.
func TestSessionTakesTheBinaryByAGreedyHead(t *testing.T) {
	takesTheBinary(t, greedy(t), false)
}

func takesTheBinary(t *testing.T, path string, exact bool) {
	t.Helper()
	for _, word := range []string{wordPlain, wordGzip} {
		x, p, _ := sessionHere(t, path)
		if p.exact != exact {
			t.Errorf("head takes no more than it is asked for: %v", p.exact)
		}
		if word == wordGzip && p.tools != toolsGzip {
			t.Skip("no gzip here")
		}
		b := someProgram()
		if _, err := x.send(t.Context(), wordFirst, b[:1000]); err != nil {
			t.Fatal(err)
		}
		rest := b[1000:]
		if word == wordGzip {
			small, err := compressed(rest)
			if err != nil || len(small) > len(rest)/2 {
				t.Fatalf("%d bytes became %d, %v", len(rest), len(small), err)
			}
			rest = small
		}
		out, err := x.send(t.Context(), word, rest)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if got, err := (Ssh{}).hash(t.Context(), Name{}, p, out); err != nil || got != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: hash %q, %v", word, got, err)
		}
		if got, err := os.ReadFile(filepath.Join(p.dir, "linerate")); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes arrived, %v", word, len(got), err)
		}
		if err := x.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
			t.Errorf("%s: the directory is still there: %v", word, err)
		}
	}
}

// What takes long is compressed while its first part is on its way; what does not, not at all.
func TestTheRestIsCompressedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := someProgram()
		after := slowAfter(4<<20, 20<<20)
		ask := compressedAfter(after, b)
		time.Sleep(after - 1)
		if z, slow, err := ask(); len(z) > 0 || slow || err != nil {
			t.Errorf("a fast path: %d bytes, %v, %v", len(z), slow, err)
		}
		ask = compressedAfter(after, b)
		time.Sleep(after)
		synctest.Wait()
		z, slow, err := ask()
		if !slow || err != nil {
			t.Fatal(slow, err)
		}
		r, err := gzip.NewReader(bytes.NewReader(z))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%d bytes of %d, %v", len(got), len(b), err)
		}
	})
	for _, c := range []struct {
		first, rest int
		want        time.Duration
	}{{4 << 20, 20 << 20, sendTime / 5}, {4 << 20, 1 << 20, 4 * sendTime}, {1000, 0, 1000 * sendTime}} {
		if got := slowAfter(c.first, c.rest); got != c.want {
			t.Errorf("after %d bytes, with %d to come: %v, want %v", c.first, c.rest, got, c.want)
		}
	}
}

// A linerate that is installed on the host is copied there where it is the same one, by its hash,
// and is sent where only its size is the same.
func TestWhatIsInstalledIsNotSent(t *testing.T) {
	b := someProgram()
	for name, installed := range map[string][]byte{"the same": b, "another of its size": bytes.Repeat([]byte{1}, len(b)), "another": {1}} {
		bin := filepath.Join(t.TempDir(), "bin")
		if err := errors.Join(os.Mkdir(bin, 0o700), os.WriteFile(bin+"/linerate", installed, 0o700), os.WriteFile(bin+"/ours", b, 0o600)); err != nil {
			t.Fatal(err)
		}
		x, p, _ := sessionHere(t, bin+":"+os.Getenv("PATH"))
		if p.own != int64(len(installed)) {
			t.Errorf("%s: its size is %d", name, p.own)
		}
		sent := &counted{WriteCloser: x.stdin}
		x.stdin = sent
		s := Ssh{Binary: func(string, string) (string, error) { return bin + "/ours", nil }}
		if err := s.deploy(t.Context(), Name{Reach: SSH, Host: "server1"}, x, p); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(p.dir + "/linerate"); err != nil || !bytes.Equal(got, b) {
			t.Errorf("%s: %d bytes are there, %v", name, len(got), err)
		}
		if st, err := os.Stat(p.dir + "/linerate"); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
		if same := name == "the same"; same != (sent.n < 100) {
			t.Errorf("%s: %d bytes were sent", name, sent.n)
		}
		if err := x.close(); err != nil {
			t.Error(err)
		}
	}
}

// counted counts what is written.
type counted struct {
	io.WriteCloser
	n int
}

func (c *counted) Write(b []byte) (int, error) {
	c.n += len(b)
	return c.WriteCloser.Write(b)
}

// A host that cannot write what it is sent says why, and has nothing left.
func TestSessionWhoseHostCannotWrite(t *testing.T) {
	x, p, tmp := sessionHere(t, os.Getenv("PATH"))
	if err := os.Mkdir(filepath.Join(p.dir, "linerate"), 0o700); err != nil { // in the file's place
		t.Fatal(err)
	}
	_, err := x.send(t.Context(), wordFirst, []byte("something"))
	wantError(t, x.why(err), "linerate")
	if left, err := filepath.Glob(tmp + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// A shell that says nothing of its own, or without end, is ended: by the caller, and by itself.
func TestSessionThatDoesNotAnswer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ssh")
	labtest.Program(t, program, strings.NewReader("#!/bin/sh\necho Welcome!\nexec sleep 1000\n"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, _, err := Ssh{Command: []string{program}}.log(ctx, Name{Reach: SSH, Host: "server1"})
	wantError(t, err, "log in and make a directory", "deadline")
	labtest.Program(t, program, strings.NewReader("#!/bin/sh\nwhile echo Welcome!; do :; done\n"))
	_, _, err = Ssh{Command: []string{program}}.log(t.Context(), Name{Reach: SSH, Host: "server1"})
	wantError(t, err, errTalkative.Error())
}

// A login that fails is no directory that could not be removed: what ssh said is all that there is to say.
func TestSessionThatDoesNotBegin(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ssh")
	labtest.Program(t, program, strings.NewReader("#!/bin/sh\necho 'connect to host server1 port 22: No route to host' >&2\nexit 255\n"))
	_, _, err := Ssh{Command: []string{program}}.log(t.Context(), Name{Reach: SSH, Host: "server1"})
	wantError(t, err, "log in and make a directory: exit status 255: connect to host server1 port 22: No route to host", "ssh -o BatchMode=yes server1")
}

// A state directory goes to the shell as a word; one that would be two is refused.
func TestStateDirThatAShellCannotBeTold(t *testing.T) {
	x := &sshSession{}
	for _, dir := range []string{"/a\nrm /b", "/a\r", " /a", "/a "} {
		if err := x.become(dir); err == nil || x.taken {
			t.Errorf("%q was told", dir)
		}
	}
}

// A login that is no shell is not taken for one that failed, and the way in names the user.
func TestLoginThatIsNoShell(t *testing.T) {
	program := filepath.Join(t.TempDir(), "ssh")
	for script, want := range map[string][]string{
		"echo 'Appliance CLI'; echo '1) status'; exit 0": {"unexpected EOF", "appliance's own command line", `it printed "Appliance CLI 1) status"`},
		"echo '%% Invalid input detected' >&2; exit 1":   {"exit status 1: %% Invalid input detected", "appliance's own command line"},
		"exit 0": {"does not answer as sh or PowerShell does"},
		"echo 'admin@server1: Permission denied (publickey).' >&2; exit 255": {"exit status 255: admin@server1: Permission denied (publickey). (can you log in with: ssh -o BatchMode=yes admin@server1 ?)"},
	} {
		labtest.Program(t, program, strings.NewReader("#!/bin/sh\n"+script+"\n"))
		_, _, err := Ssh{Command: []string{program}}.log(t.Context(), Name{Reach: SSH, User: "admin", Host: "server1"})
		wantError(t, err, append(want, "ssh -o BatchMode=yes admin@server1")...)
		if err != nil && (strings.Contains(err.Error(), "remove the directory") || strings.HasSuffix(script, "255") && strings.Contains(err.Error(), "appliance")) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
