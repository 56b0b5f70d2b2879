package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
)

// hook is one reversible change of a lab.
type hook = func(ctx context.Context, l fault.Lab) (fault.Undo, error)

// sysctl writes a key of a host's network namespace.
func sysctl(host, key, value string) hook {
	return func(ctx context.Context, l fault.Lab) (fault.Undo, error) {
		old, err := l.Sysctl(ctx, host, key, value)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := l.Sysctl(ctx, host, key, old)
			return err
		}, nil
	}
}

// shell runs one command of the shell on a host, and another to take it back.
func shell(host, put, back string) hook {
	return func(ctx context.Context, l fault.Lab) (fault.Undo, error) {
		if _, err := l.Run(ctx, host, "sh", "-c", put); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := l.Run(ctx, host, "sh", "-c", back)
			return err
		}, nil
	}
}

// filter puts rules into a chain of nftables at one of its hooks (input, forward,
// output).
func filter(host, at string, rules ...string) hook {
	put := []string{"nft -f - <<'END'", "table ip wild {", "chain c { type filter hook " + at + " priority -10; policy accept;"}
	put = append(put, rules...)
	put = append(put, "}", "}", "END")
	return shell(host, strings.Join(put, "\n"), "nft delete table ip wild")
}

// route gives the way to the other subnet attributes of its own: V in them is the value.
// What TCP remembers of the peer would outweigh them.
func route(host, attributes string) hook {
	to, via := "10.78.2.0/24", nearGate
	if host == receiver {
		to, via = "10.78.1.0/24", farGate
	}
	return shell(host, fmt.Sprintf("ip route add %s via %s %s && ip tcp_metrics flush", to, via, attributes), "ip route del "+to+"; ip tcp_metrics flush")
}

// qdisc puts a queueing discipline on an interface.
func qdisc(host, dev, words string) hook {
	return shell(host, fmt.Sprintf("tc qdisc replace dev %s root %s", dev, words), fmt.Sprintf("tc qdisc del dev %s root", dev))
}

// runs keeps a command running on a host.
func runs(host, name string, argv ...string) hook {
	return func(ctx context.Context, l fault.Lab) (fault.Undo, error) {
		stop, err := l.Start(ctx, host, name, argv...)
		if err != nil {
			return nil, err
		}
		return func(context.Context) error { return stop() }, nil
	}
}

// option sets a socket option on each connection of a host's data address, by
// duplicating the sockets of the application.
func option(host string, level, name, value int) hook {
	return runs(host, "socket option", fault.Self, meddleRole, "option", addrOf(host), strconv.Itoa(level), strconv.Itoa(name), strconv.Itoa(value))
}

// halts stops the process that has the connection for a while, again and again.
func halts(host string, on, off time.Duration) hook {
	return runs(host, "halt", fault.Self, meddleRole, "halt", addrOf(host), on.String(), off.String())
}

// blasts sends datagrams to an address at a rate of wire bits; off > 0: in bursts.
func blasts(from, to string, rate float64, on, off time.Duration) hook {
	return runs(from, "datagrams", fault.Self, meddleRole, "blast", to, strconv.FormatFloat(rate, 'f', 0, 64), on.String(), off.String())
}

func addrOf(host string) string {
	if host == receiver {
		return receiverAddr
	}
	return senderAddr
}

// link changes a link; dir 0 is the way of the data.
func link(id string, dir int, change func(*topology.Shape)) hook {
	return func(ctx context.Context, l fault.Lab) (fault.Undo, error) {
		before := l.Shapes(id)[dir]
		if err := l.Reshape(ctx, id, dir, change); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			return l.Reshape(ctx, id, dir, func(s *topology.Shape) { *s = before })
		}, nil
	}
}

// pulses changes a link for on and puts it back for off, again and again.
func pulses(id string, dir int, on, off time.Duration, change func(*topology.Shape)) hook {
	return func(ctx context.Context, l fault.Lab) (fault.Undo, error) {
		before := l.Shapes(id)[dir]
		put := link(id, dir, change)
		undo, err := put(ctx, l)
		if err != nil {
			return nil, err
		}
		within, stop := context.WithCancel(context.WithoutCancel(ctx))
		ended := make(chan error, 1)
		go func() { ended <- pulse(within, l, put, undo, on, off) }()
		var once error
		return func(ctx context.Context) error {
			if within.Err() == nil {
				stop()
				once = <-ended
			}
			return errors.Join(once, l.Reshape(ctx, id, dir, func(s *topology.Shape) { *s = before }))
		}, nil
	}
}

func pulse(ctx context.Context, l fault.Lab, put hook, undo fault.Undo, on, off time.Duration) error {
	steady := context.WithoutCancel(ctx)
	for {
		if !wait(ctx, on) {
			return nil
		}
		if err := undo(steady); err != nil {
			return err
		}
		if !wait(ctx, off) {
			return nil
		}
		if _, err := put(steady, l); err != nil {
			return err
		}
	}
}

// wait tells whether the time passed before ctx ended.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// group writes a file of the control group that the lab put the host's processes in.
// The controllers are those of version 1.
func group(host, controller, file, value string) hook {
	return func(ctx context.Context, l fault.Lab) (fault.Undo, error) {
		b, err := l.Run(ctx, host, "cat", "/proc/self/cgroup")
		if err != nil {
			return nil, err
		}
		path, err := groupFile(string(b), controller, file)
		if err != nil {
			return nil, err
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read a control group of %s: %w", host, err)
		}
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			return nil, fmt.Errorf("change a control group of %s: %w", host, err)
		}
		return func(context.Context) error { return os.WriteFile(path, old, 0o644) }, nil
	}
}

// groupFile finds the file by the text of /proc/PID/cgroup. Only a group that a lab made
// will do.
func groupFile(groups, controller, file string) (string, error) {
	for line := range strings.Lines(groups) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		names, path, _ := strings.Cut(rest, ":")
		if slices.Contains(strings.Split(names, ","), controller) && strings.Contains(filepath.Base(path), "linerate-") {
			return filepath.Join("/sys/fs/cgroup", controller, path, file), nil
		}
	}
	return "", fmt.Errorf("no control group of this lab has the %s controller", controller)
}
