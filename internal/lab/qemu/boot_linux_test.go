package qemu

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/unit"
)

func TestMachineBootsAndKeepsItsFiles(t *testing.T) {
	labtest.Long(t)
	s := bootable(t)
	for boot := 1; boot <= 2; boot++ {
		m := start(t, s)
		got := m.sight(t)
		if got.Boots != boot {
			t.Errorf("start %d: the machine's own file says %d", boot, got.Boots)
		}
		if boot == 1 {
			checkSight(t, s, got)
			m.checkBytes(t)
		}
		if boot == 1 {
			m.powerOff(t)
		} else {
			m.hangUp(t)
		}
	}
}

func checkSight(t *testing.T, s Spec, got sight) {
	t.Helper()
	if got.Release != s.Kernel.Release || got.Host != s.Name || !got.Init || len(got.Missing) > 0 || got.Nodes != 2 || got.CPUs != 4 {
		t.Errorf("the machine sees %+v", got)
	}
	if diff := cmp.Diff(s.InitArgs, got.Args); diff != "" {
		t.Errorf("arguments of init: %s", diff)
	}
	want := map[string]nicSight{
		mac(1).String(): {
			Driver: E1000E, Node: 0, Speed: "2.5 GT/s PCIe", Width: "1",
			PortSpeed: "2.5 GT/s PCIe", PortWidth: "1", PortCanSpeed: "5.0 GT/s PCIe", PortCanWidth: "4",
		},
		mac(2).String(): {
			Driver: VMXNet3, Node: 1, Speed: "2.5 GT/s PCIe", Width: "1",
			PortSpeed: "2.5 GT/s PCIe", PortWidth: "1", PortCanSpeed: "2.5 GT/s PCIe", PortCanWidth: "1",
		},
	}
	if diff := cmp.Diff(want, got.NICs); diff != "" {
		t.Errorf("network cards: %s", diff)
	}
}

// bootable is a machine that boots this very test binary, or a reason to skip.
func bootable(t *testing.T) Spec {
	t.Helper()
	labtest.Needs(t, "qemu-system-x86_64", "kernel", "mkfs.ext4")
	k, err := Find()
	if err != nil {
		t.Skip(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := Spec{
		Name: "client1", Memory: unit.GiB, Kernel: k, Init: self,
		InitArgs: []string{guestCommand, "two words", "-x=a b", "y=1"},
		// Longer than a socket's path may be, and with a comma.
		Work: filepath.Join(t.TempDir(), strings.Repeat("long,", 20)),
		NICs: []NIC{
			{Model: E1000E, MAC: mac(1), Node: 0, PortSpeed: 5, PortWidth: 4},
			{Model: VMXNet3, MAC: mac(2), Node: 1},
		},
	}
	if os.Geteuid() == 0 {
		s.NICs[0].Tap = "tap0" // made by the emulator in its own network namespace
	}
	return s
}

// running is a machine and the line to it.
type running struct {
	work    string
	control net.Conn
	in      *bufio.Reader
	ended   <-chan struct{}
	started time.Time
}

func start(t *testing.T, s Spec) *running {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), 2*time.Minute, errors.New("two minutes have passed"))
	t.Cleanup(cancel)
	m := &running{work: s.Work, started: time.Now()}
	argv, err := Prepare(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("prepared in %.1f s", time.Since(m.started).Seconds())
	cmd := kernel.Exec(ctx, argv...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	kernel.InNewNamespaces(cmd, kernel.Namespaces{Net: os.Geteuid() == 0})
	m.started = time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m.wait(t, cmd, &said)
	// The line must not outwait the machine.
	line, hangUp := context.WithCancelCause(ctx)
	go func() { <-m.ended; hangUp(errors.New("the emulator has ended")) }()
	if m.control, err = Dial(line, s.Work); err != nil {
		t.Fatal(err, m.console())
	}
	t.Cleanup(func() { m.control.Close() })
	m.in = bufio.NewReader(m.control)
	return m
}

// wait collects the emulator, and ends it if the test does not.
func (m *running) wait(t *testing.T, cmd *exec.Cmd, said *bytes.Buffer) {
	ended := make(chan struct{})
	m.ended = ended
	var err error
	go func() { err = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		select {
		case <-ended:
		default:
			// It may end at this moment; what is waited for is its end.
			_ = cmd.Process.Kill()
			<-ended
		}
		// Of a card without a tap it is meant.
		rest := strings.Replace(said.String(), "qemu-system-x86_64: warning: hub 1 is not connected to host network\n", "", 1)
		if err != nil || rest != "" {
			t.Errorf("the emulator ended with %v and said %q", err, rest)
		}
	})
}

func (m *running) console() string {
	b, err := os.ReadFile(filepath.Join(m.work, ConsoleLog))
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("console: %s", b[max(0, len(b)-2000):])
}

func (m *running) sight(t *testing.T) sight {
	t.Helper()
	var s sight
	line, err := m.in.ReadBytes('\n')
	if err != nil {
		t.Fatal(err, m.console())
	}
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatalf("%v: %q", err, line)
	}
	t.Logf("answered after %.1f s; root entered at %.1f s of the machine's time", time.Since(m.started).Seconds(), s.UpTime)
	return s
}

// checkBytes sends every byte there is, and more of them than any buffer holds.
func (m *running) checkBytes(t *testing.T) {
	t.Helper()
	b := make([]byte, 1<<20)
	if _, err := rand.NewChaCha8([32]byte{1}).Read(b); err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	if _, err := fmt.Fprintln(m.control, len(b)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.control.Write(b); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(b))
	if _, err := io.ReadFull(m.in, got); err != nil {
		t.Fatal(err, m.console())
	}
	t.Logf("%s there and back in %.2f s", unit.Bytes(len(b)), time.Since(at).Seconds())
	if !bytes.Equal(got, b) {
		t.Error("bytes came back altered")
	}
}

func (m *running) powerOff(t *testing.T) {
	t.Helper()
	if _, err := fmt.Fprintln(m.control, 0); err != nil {
		t.Fatal(err)
	}
	// The line ends with the emulator, and that with the machine.
	if rest, err := io.ReadAll(m.in); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
	<-m.ended
}

// hangUp: the machine sees that, and powers off by itself.
func (m *running) hangUp(t *testing.T) {
	t.Helper()
	if err := m.control.Close(); err != nil {
		t.Fatal(err)
	}
	<-m.ended
}
