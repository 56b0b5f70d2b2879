package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/lab/labtest"
	"linerate/internal/move"
	"linerate/internal/move/movetest"
	"linerate/internal/move/place"
	"linerate/internal/move/tree"
	"linerate/internal/move/wire"
)

// receiverIs in the environment makes the test binary the receiver of a copy: a doomed, as JSON.
const receiverIs = "LINERATE_TEST_RECEIVER"

// doomed is a receiver that kills itself the nth time that it is at a point.
type doomed struct {
	Addr   netip.AddrPort
	Run    wire.Run
	Secret wire.Secret
	Dst    string
	Point  string
	N      int64
}

func TestMain(m *testing.M) {
	if what := os.Getenv(receiverIs); what != "" {
		if err := receiveUntilKilled(what); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func receiveUntilKilled(what string) error {
	var d doomed
	if err := json.Unmarshal([]byte(what), &d); err != nil {
		return err
	}
	var seen atomic.Int64
	r := move.NewReport(nil)
	to, err := place.Open(d.Dst, place.Options{Run: "killed", Direct: true, Journal: 16 << 20, At: func(point string) {
		if point == d.Point && seen.Add(1) == d.N {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}}, r)
	if err != nil {
		return err
	}
	keys := &wire.Keys{Run: d.Run, Secret: d.Secret, Plain: true}
	p := &wire.Dialler{Keys: keys, Connect: wire.To(d.Addr, netip.Addr{})}
	return errors.Join(wire.Receive(context.Background(), p, to, r, wire.Near{}, &wire.Stats{}), to.Close())
}

// Whenever the receiver of a copy between hosts is killed: its sender does not call that done, what has its
// name is whole and right, and the next copy goes on and leaves nothing behind.
func TestAKilledReceiverLeavesNoWrongFileAndIsGoneOnWith(t *testing.T) {
	receiverIsKilled(t, []killPoint{{"append", 4, 12 << 20}, {"rename", 25, 0}, {"dirsync", 1, 0}})
}

func TestAReceiverIsKilledAtEveryPoint(t *testing.T) {
	labtest.Long(t)
	receiverIsKilled(t, []killPoint{{"open", 1, 0}, {"open", 20, 0}, {"write", 1, 0}, {"write", 12, 0}, {"fdatasync", 1, 0},
		{"fdatasync", 2, 1}, {"append", 1, 0}, {"rename", 1, 0}})
}

// killPoint is where the receiver kills itself; had: at least so much is resumed then.
type killPoint struct {
	point string
	n     int64
	had   int64
}

func receiverIsKilled(t *testing.T, points []killPoint) {
	t.Helper()
	src := t.TempDir()
	for i := range 30 {
		movetest.Write(t, fmt.Sprintf("%s/d%d/f%d", src, i%3, i), strings.Repeat("x", i*100))
	}
	if err := os.WriteFile(src+"/large", movetest.Pattern(66<<20+321, 7), 0o640); err != nil {
		t.Fatal(err)
	}
	want := movetest.Describe(t, src)
	for _, c := range points {
		dst, when := t.TempDir(), fmt.Sprint(c.point, " ", c.n)
		sendToDoomed(t, src, doomed{Dst: dst, Point: c.point, N: c.n})
		for path, line := range movetest.Describe(t, dst) {
			if !strings.Contains(path, "linerate") && !strings.HasPrefix(line, "40") && line != want[path] {
				t.Errorf("killed at %s: %q is\n  %s, want\n  %s", when, path, line, want[path])
			}
		}
		_, got := copyBetween(t, Task{Read: move.Raws([]string{src + "/"})}, Task{Write: move.Raw(dst)})
		movetest.Same(t, src, dst)
		for path := range movetest.Describe(t, dst) {
			if strings.Contains(path, "linerate") {
				t.Errorf("killed at %s: %q was left", when, path)
			}
		}
		if got.Work.Moved.Resumed < c.had {
			t.Errorf("killed at %s: %d bytes were resumed, want at least %d", when, got.Work.Moved.Resumed, c.had)
		}
	}
}

// sendToDoomed sends a tree to a receiver that kills itself, and wants to hear of it.
func sendToDoomed(t *testing.T, src string, d doomed) {
	t.Helper()
	var err error
	if d.Run, d.Secret, err = wire.Draw(); err != nil {
		t.Fatal(err)
	}
	l, err := wire.Listen(anyPort, &wire.Keys{Run: d.Run, Secret: d.Secret, Plain: true})
	if err != nil {
		t.Fatal(err)
	}
	d.Addr = l.Addr()
	what, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), receiverIs+"="+string(what))
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := move.NewReport(nil)
	from, err := tree.Open([]tree.Top{{Dir: src}}, tree.Options{Direct: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		werr := cmd.Wait()
		if werr == nil || !strings.Contains(werr.Error(), "killed") {
			cancel() // it may never have called
		}
		ended <- werr
	}()
	sent := wire.Send(ctx, l, from, r, wire.Options{Streams: 1}, &wire.Stats{})
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%s %d: the receiver was not killed: %v\n%s", d.Point, d.N, err, said.String())
	}
	cancel()
	if sent == nil {
		t.Errorf("%s %d: the sender calls it done", d.Point, d.N)
	}
	if err := errors.Join(l.Close(), from.Close()); err != nil {
		t.Fatal(err)
	}
}
