package guest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/yamux"
)

func TestParams(t *testing.T) {
	want := Params{Line: "/dev/ttyS0", Disk: "/dev/ubda", Modules: "/usr/lib/uml/modules/6.1", Keep: "/run/linerate/lab-1",
		Ports: []Port{{"02:4c:52:00:00:01", "eth0"}, {"02:4c:52:00:01:01", "eth1"}}}
	env := map[string]string{}
	words := want.CommandLine()
	for _, w := range words[:len(words)-1] {
		if strings.ContainsAny(w, " .\"") && !strings.Contains(w, "/") {
			t.Errorf("parameter %q: the kernel would take it apart", w)
		}
		name, value, _ := strings.Cut(w, "=")
		env[name] = value
	}
	if words[len(words)-1] != InitRole {
		t.Errorf("the last word is %q", words[len(words)-1])
	}
	got, err := parseParams(func(k string) string { return env[k] })
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
	for name, value := range map[string]string{varLine: "", varPorts: "02:4c"} {
		bad := func(k string) string {
			if k == name {
				return value
			}
			return env[k]
		}
		if _, err := parseParams(bad); err == nil {
			t.Errorf("%s=%q is taken", name, value)
		}
	}
}

func TestModuleFiles(t *testing.T) {
	const dep = "kernel/fs/nfs/nfs.ko: kernel/net/sunrpc/sunrpc.ko kernel/fs/lockd/lockd.ko\nkernel/net/sunrpc/sunrpc.ko:\nkernel/crypto/aes-ti.ko.xz:\n"
	for name, want := range map[string][]string{
		"nfs":    {"kernel/fs/lockd/lockd.ko", "kernel/net/sunrpc/sunrpc.ko", "kernel/fs/nfs/nfs.ko"},
		"sunrpc": {"kernel/net/sunrpc/sunrpc.ko"}, "aes_ti": {"kernel/crypto/aes-ti.ko.xz"}, "aes-ti": {"kernel/crypto/aes-ti.ko.xz"}, "none": nil, "fs": nil,
	} {
		if got := moduleFiles(dep, name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func FuzzModuleFiles(f *testing.F) {
	f.Add("a.ko: b.ko\n", "a")
	f.Fuzz(func(t *testing.T, dep, name string) {
		for _, file := range moduleFiles(dep, name) {
			if !strings.Contains(dep, file) {
				t.Errorf("%q is not in %q", file, dep)
			}
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 2, 'h', 'i'})
	f.Add([]byte{9, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		k, body, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		if k < kindRequest || k > kindExit || len(body) != int(binary.BigEndian.Uint32(b[1:])) {
			t.Errorf("kind %d, %d bytes of %q", k, len(body), b)
		}
	})
}

// inside is a host without a kernel of its own: serve in this process, behind a
// socket as a keeper makes it.
func inside(t *testing.T) (socket string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("labs are for Linux only")
	}
	near, far := net.Pipe()
	go func() { _ = serve(far) }() // it ends with the cable
	if err := awaitReady(near); err != nil {
		t.Fatal(err)
	}
	session, err := yamux.Client(near, cableConfig())
	if err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "in")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go join(session, conn)
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		_ = session.Close()
	})
	return socket
}

func TestCommands(t *testing.T) {
	socket := inside(t)
	big := strings.Repeat("all that goes in comes out again. ", 100_000) // more than a stream's window
	for _, c := range []struct {
		name         string
		argv         []string
		in           string
		code         int
		out, err     string
		containedErr bool
	}{
		{name: "output", argv: []string{"sh", "-c", "echo out; echo err >&2"}, out: "out\n", err: "err\n"},
		{name: "exit code", argv: []string{"sh", "-c", "exit 7"}, code: 7},
		{name: "a signal's end", argv: []string{"sh", "-c", "kill -9 $$"}, code: 137},
		{name: "input", argv: []string{"cat"}, in: big, out: big},
		{name: "input that nobody reads", argv: []string{"true"}, in: big},
		{name: "no such program", argv: []string{"linerate-no-such-program"}, code: 127, err: "not in", containedErr: true},
		{name: "left behind", argv: []string{"sh", "-c", "sleep 100 & echo $!"}, out: "", containedErr: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			code, err := run(t.Context(), append([]string{socket, "--"}, c.argv...), strings.NewReader(c.in), &out, &errs, nil)
			if err != nil {
				fmt.Fprint(&errs, err)
			}
			if code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, errs.String())
			}
			if c.name == "left behind" {
				if p, err := os.FindProcess(atoi(out.String())); err == nil {
					_ = p.Kill()
				}
				return
			}
			if out.String() != c.out {
				t.Errorf("%d bytes of output, want %d", out.Len(), len(c.out))
			}
			if c.containedErr != (errs.String() != c.err) || !strings.Contains(errs.String(), c.err) {
				t.Errorf("stderr %q, want %q", errs.String(), c.err)
			}
		})
	}
}

func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

// A command gets the signals of whoever started it, and ends when that one has
// gone.
func TestSignalsAndEnd(t *testing.T) {
	socket := inside(t)
	sig := make(chan os.Signal, 1)
	r, w := io.Pipe()
	done := make(chan int)
	go func() {
		code, err := run(context.Background(), []string{socket, "--", "sh", "-c", "trap 'echo heard; exit 3' TERM; echo ready; while :; do sleep 0.05; done"}, nil, w, io.Discard, sig)
		if err != nil {
			t.Error(err)
		}
		done <- code
	}()
	line := make([]byte, 6)
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	sig <- syscall.SIGTERM
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "heard\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if code := <-done; code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	conn, err := dial(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&frames{w: conn}).sendJSON(kindRequest, request{Argv: []string{"sh", "-c", "echo $$; exec sleep 100"}, Dir: "/"}); err != nil {
		t.Fatal(err)
	}
	_, b, err := readFrame(conn)
	if err != nil {
		t.Fatal(err)
	}
	pid := atoi(string(b))
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d goes on without whoever started it", pid)
		}
	}
}

func TestTelling(t *testing.T) {
	const console = "Booting\nlinerate: enter root: mount files: no such device\n[    5.3] Kernel panic - not syncing: Attempted to kill init!\n[    5.3] CPU: 0\nRAX: 00\n"
	const want = "Booting\nlinerate: enter root: mount files: no such device\n[    5.3] Kernel panic - not syncing: Attempted to kill init!"
	if got := telling(console); got != want {
		t.Errorf("%q", got)
	}
	if got := telling("a line\n\n"); got != "a line" {
		t.Errorf("%q", got)
	}
}
