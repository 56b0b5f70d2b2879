package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
)

// TestMain makes the test binary the program that probes and that keeps hosts.
func TestMain(m *testing.M) {
	// The race detector would hold up the end of every process for a second.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	if len(os.Args) > 4 && os.Args[1] == "lab-probe" && os.Args[3] == "iscsi-test" {
		if err := tryOnce(os.Args[4], iscsiFlip, os.Args[5:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 2 && os.Args[1] == "lab-probe" {
		os.Exit(ProbeMain(os.Args[2:], os.Stderr))
	}
	if len(os.Args) > 3 && os.Args[1] == "test-holder" {
		if err := hold(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const testPort = "eth0"

// hold is an emulated host until stdin ends. It is the first process of its
// namespace: what runs there ends with it. With a peer it makes the wire.
func hold(addr, peer string) error {
	prefix, err := netip.ParsePrefix(addr)
	if err != nil {
		return err
	}
	if err := kernel.MountOwnSys(); err != nil {
		return err
	}
	pid, err := strconv.Atoi(peer)
	if err != nil {
		return err
	}
	in := bufio.NewReader(os.Stdin)
	if pid > 0 {
		err = kernel.AddVeth(kernel.Veth{Name: testPort, Peer: testPort, PeerPID: pid, MTU: 1500})
	} else {
		fmt.Println("started")
		_, err = in.ReadString('\n') // until the peer has made the wire
	}
	if err != nil {
		return err
	}
	for _, i := range []kernel.Interface{{Name: "lo", Up: true}, {Name: testPort, Addr: prefix, Up: true}} {
		if err := kernel.SetInterface(i); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, in)
	return err
}

// testHost is a holder and how to run things in it.
type testHost struct {
	name string
	addr netip.Addr
	dir  string
	pid  int
	in   io.WriteCloser
	out  *bufio.Scanner
}

func (h *testHost) Name() string     { return h.name }
func (h *testHost) Addr() netip.Addr { return h.addr }
func (h *testHost) Dir() string      { return h.dir }

func (h *testHost) command(ctx context.Context, argv []string) *kernel.Cmd {
	enter := []string{"nsenter", "--target", strconv.Itoa(h.pid), "--pid", "--net", "--mount", "--uts", "--"}
	cmd := kernel.Exec(ctx, append(enter, argv...)...)
	kernel.InNewNamespaces(cmd, kernel.Namespaces{}) // a process group of its own
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	return cmd
}

func (h *testHost) Run(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := h.command(ctx, argv)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

type testProcess struct {
	cmd  *kernel.Cmd
	done chan struct{}
}

func (h *testHost) Start(_ context.Context, _ string, argv ...string) (Process, error) {
	p := &testProcess{h.command(context.Background(), argv), make(chan struct{})}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // it is killed, by design
		close(p.done)
	}()
	return p, nil
}

func (p *testProcess) Done() <-chan struct{} { return p.done }

func (p *testProcess) Stop() error {
	err := unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL)
	<-p.done
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// pair is two hosts and a wire, gone at the end of the test.
func pair(t *testing.T) (client, server *testHost) {
	t.Helper()
	if admin, err := kernel.HasNetAdmin(); err != nil || !admin || os.Geteuid() != 0 {
		t.Skipf("no root here: run as root (%v)", err)
	}
	labtest.Needs(t, labtest.Namespaces, "nsenter", "unshare", "mount", "umount")
	server = newHost(t, "server1", "10.77.0.2/24", 0)
	server.say(t, "started")
	client = newHost(t, "client1", "10.77.0.1/24", server.pid)
	client.say(t, "ready")
	if _, err := io.WriteString(server.in, "\n"); err != nil {
		t.Fatal(err)
	}
	server.say(t, "ready")
	return client, server
}

func newHost(t *testing.T, name, addr string, peer int) *testHost {
	t.Helper()
	cmd := kernel.Exec(context.Background(), "/proc/self/exe", "test-holder", addr, strconv.Itoa(peer))
	kernel.InNewNamespaces(cmd, kernel.Namespaces{Net: true, Mount: true, UTS: true})
	if peer == 0 { // the other one must see its peer's process
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWPID
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &testHost{name, netip.MustParsePrefix(addr).Addr(), dir, cmd.Process.Pid, in, bufio.NewScanner(out)}
}

func (h *testHost) say(t *testing.T, want string) {
	t.Helper()
	if !h.out.Scan() || h.out.Text() != want {
		t.Fatalf("host %s: %q, want %q", h.name, h.out.Text(), want)
	}
}
