package host

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"linerate/internal/lab/labtest"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	"linerate/internal/move/wire"
)

// movers are both ends of a copy, each at an agent of its own.
type movers struct {
	t        *testing.T
	from, to *Mover
	pins     [2]wire.Pin
}

func awaitMover(t *testing.T, m *Mover, k mover.Kind) mover.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for {
		events, err := m.Events(ctx)
		if err != nil {
			t.Fatalf("wait for %s: %v", k, err)
		}
		for _, e := range events {
			if e.Kind == k {
				return e
			}
			if e.Kind == mover.Failed || e.Kind == mover.Over {
				t.Fatalf("%s: %s, while waiting for %s", e.Kind, e.Text, k)
			}
		}
	}
}

func tellMover(t *testing.T, m *Mover, c mover.Command) {
	t.Helper()
	if err := m.Tell(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func startMovers(t *testing.T, near, far *Client, from, to mover.Task) *movers {
	t.Helper()
	run, secret, err := wire.Draw()
	if err != nil {
		t.Fatal(err)
	}
	from.Run, from.Secret, to.Run, to.Secret = run, secret, run, secret
	m := &movers{t: t}
	if m.from, err = near.StartMover(t.Context(), from); err != nil {
		t.Fatal(err)
	}
	if m.to, err = far.StartMover(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	m.pins = [2]wire.Pin{awaitMover(t, m.from, mover.Ready).Pin, awaitMover(t, m.to, mover.Ready).Pin}
	tellMover(t, m.to, mover.Command{Order: mover.Open})
	tellMover(t, m.from, mover.Command{Order: mover.Open, As: awaitMover(t, m.to, mover.Opened).As})
	awaitMover(t, m.from, mover.Opened)
	tellMover(t, m.to, mover.Command{Order: mover.Listen, At: netip.MustParseAddrPort("127.0.0.1:0"), Peer: m.pins[0]})
	return m
}

func sampleFiles(t *testing.T, large int) string {
	t.Helper()
	src := t.TempDir()
	for name, data := range map[string][]byte{"small": []byte("x"), "large": bytes.Repeat([]byte("0123456789abcdef"), large/16)} {
		if err := os.WriteFile(filepath.Join(src, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return src
}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	for _, name := range []string{"small", "large"} {
		want, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(b, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s arrived with %d bytes of %d: %v", name, len(got), len(want), err)
		}
	}
}

func TestMoversOfTwoAgentsCopy(t *testing.T) {
	near, _ := dial(t, "near")
	far, _ := dial(t, "far")
	src, dst := sampleFiles(t, 9<<20), t.TempDir()
	m := startMovers(t, near, far, mover.Task{Read: move.Raws([]string{src + "/"})}, mover.Task{Write: move.Raw(dst)})
	tellMover(t, m.from, mover.Command{Order: mover.Dial, At: awaitMover(t, m.to, mover.Listening).Addr, Peer: m.pins[1]})
	awaitMover(t, m.from, mover.Over)
	if e := awaitMover(t, m.to, mover.Over); e.Work.Moved.Files != 2 || e.Work.Received == 0 {
		t.Errorf("it received %+v", e.Work)
	}
	sameFiles(t, src, dst)
}

// Data that cannot go by a port go through the agent's channel.
func TestACopyGoesThroughTheAgentsChannel(t *testing.T) {
	near, _ := dial(t, "near")
	far, _ := dial(t, "far")
	src, dst := sampleFiles(t, 5<<20), t.TempDir()
	m := startMovers(t, near, far, mover.Task{Read: move.Raws([]string{src + "/"}), Streams: 2}, mover.Task{Write: move.Raw(dst)})
	awaitMover(t, m.to, mover.Listening)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = m.to.Tunnel(t.Context(), 0, c) }() // the copy tells whether it worked
		}
	}()
	tellMover(t, m.from, mover.Command{Order: mover.Dial, At: netip.MustParseAddrPort(l.Addr().String()), Peer: m.pins[1]})
	awaitMover(t, m.from, mover.Over)
	awaitMover(t, m.to, mover.Over)
	sameFiles(t, src, dst)
}

// Either end, or an agent, is killed in the middle: no file has its name that is not whole,
// the other end hears of it, and the next run goes on.
func TestACopyWhoseEndIsKilledGoesOn(t *testing.T) {
	for _, victim := range []string{"sender", "receiver", "agent"} {
		t.Run(victim, func(t *testing.T) {
			if victim != "receiver" {
				labtest.Long(t)
			}
			near, _ := dial(t, "near")
			far, err := Dial(t.Context(), localEndpoint(t, "far"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer far.Close()
			src, dst := sampleFiles(t, 72<<20), t.TempDir()
			// The limit holds the copy in its middle for as long as the test needs.
			m := startMovers(t, near, far, mover.Task{Read: move.Raws([]string{src + "/"}), Limit: 24 << 20, Streams: 2}, mover.Task{Write: move.Raw(dst)})
			tellMover(t, m.from, mover.Command{Order: mover.Dial, At: awaitMover(t, m.to, mover.Listening).Addr, Peer: m.pins[1]})
			// Until most has arrived: after a second the journal knows some of it.
			for awaitMover(t, m.to, mover.Seen).Work.Received < 60<<20 {
			}
			other := m.to
			switch victim {
			case "sender":
				err = unix.Kill(m.from.PID(), unix.SIGKILL)
			case "receiver":
				other, err = m.from, unix.Kill(m.to.PID(), unix.SIGKILL)
			case "agent":
				other, err = m.from, far.kill()
			}
			if err != nil {
				t.Fatal(err)
			}
			awaitFailed(t, other)
			if _, err := os.Lstat(filepath.Join(dst, "large")); err == nil {
				t.Error("a file that is not whole has its name")
			}
			again, _ := dial(t, "far")
			m = startMovers(t, near, again, mover.Task{Read: move.Raws([]string{src + "/"})}, mover.Task{Write: move.Raw(dst)})
			tellMover(t, m.from, mover.Command{Order: mover.Dial, At: awaitMover(t, m.to, mover.Listening).Addr, Peer: m.pins[1]})
			awaitMover(t, m.from, mover.Over)
			got := awaitMover(t, m.to, mover.Over).Work
			sameFiles(t, src, dst)
			// A busy disk may not have made anything durable before the kill: what was not
			// sent again was there.
			if all := got.Moved.Resumed + got.Received; all != 72<<20 && all != 72<<20+1 {
				t.Errorf("%d bytes were there and %d were sent, of %d", got.Moved.Resumed, got.Received, 72<<20)
			}
			t.Logf("%d MiB of 72 were there already", got.Moved.Resumed>>20)
		})
	}
}

func awaitFailed(t *testing.T, m *Mover) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for {
		events, err := m.Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			switch e.Kind {
			case mover.Failed:
				return
			case mover.Over:
				t.Fatal("it takes the copy for done")
			}
		}
	}
}
