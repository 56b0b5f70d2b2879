package wire

import (
	"context"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/move"
)

// listed is a host whose files say this of its congestion controls.
type listed map[string]string

func (l listed) ReadFile(path string) ([]byte, error) {
	if s, ok := l[path]; ok {
		return []byte(s), nil
	}
	return nil, fs.ErrNotExist
}
func (listed) ReadDir(string) ([]string, error) { return nil, fs.ErrNotExist }
func (listed) Readlink(string) (string, error)  { return "", fs.ErrNotExist }

func TestACongestionControlThatCannotBeHadIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		ask   Congestion
		host  listed
		wants []string
	}{
		"none is asked for": {"", nil, nil},
		"not loaded":        {"bbr", listed{availableFile: "reno cubic\n"}, []string{"reno, cubic", "modprobe tcp_bbr"}},
		"nothing is said":   {"bbr", nil, []string{"read which"}},
		// The list says more than the kernel has: its own answer counts.
		"refused by the kernel": {"no_such", listed{availableFile: "reno no_such", allowedFile: "reno cubic"}, []string{"no such file", "allows reno, cubic"}},
	} {
		err := c.ask.Check(c.host)
		if (err != nil) != (c.wants != nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range c.wants {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", name, err, want)
			}
		}
	}
	for name, want := range map[Congestion]bool{"bbr": true, "cdg_2-x": true, "": false, "a b": false, "bbr\n": false, "Cubic": false, "sixteen_letters_": false} {
		if name.IsName() != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestTheSendersDataConnectionsHaveTheCongestionControlThatWasAskedFor(t *testing.T) {
	const now = "/proc/sys/net/ipv4/tcp_congestion_control"
	root := kernel.Root("/")
	own, err := root.ReadFile(now)
	allowed, aerr := root.ReadFile(allowedFile)
	if err != nil || aerr != nil {
		t.Skipf("needs a host that says what congestion controls it has: %v, %v", err, aerr)
	}
	i := slices.IndexFunc(strings.Fields(string(allowed)), func(c string) bool { return c != strings.TrimSpace(string(own)) })
	if i < 0 {
		t.Skip("needs a second congestion control that any user may have")
	}
	other := Congestion(strings.Fields(string(allowed))[i])
	if err := other.Check(root); err != nil {
		t.Fatal(err)
	}
	for _, sends := range []string{"dialler", "listener"} {
		t.Run(sends, func(t *testing.T) {
			l, d := parties(t, true)
			var from, to Party = d, l
			if sends == "listener" {
				from, to = l, d
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var sent, got Stats
			done := make(chan error, 1)
			s := newMemorySink()
			s.spoil = func(string, *move.Block) { sent.Sockets() } // looks while they are open
			go func() { done <- Receive(ctx, to, s, move.NewReport(nil), Near{}, &got) }()
			if err := Send(ctx, from, sampleTree(3), move.NewReport(nil), Options{Streams: 2, Congestion: other}, &sent); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if s := sent.Sockets(); s.Seen == 0 || s.Congestion != string(other) {
				t.Errorf("%+v, want %s", s, other)
			}
		})
	}
}
