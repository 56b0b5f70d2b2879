package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"linerate/bench/kit"
	"linerate/internal/explain"
	"linerate/internal/host"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// readers prints what it costs a host to be read once and ten times a second, by the agent of a live view
// and by node_exporter, in turns.
func readers(ctx context.Context, exporter string, each time.Duration) error {
	path, err := exec.LookPath(exporter)
	if err != nil {
		return fmt.Errorf("find node_exporter: %w (Debian's package is prometheus-node-exporter; name its program with -exporter)", err)
	}
	end, err := trickle(ctx)
	if err != nil {
		return err
	}
	defer end()
	return kit.WithUser(ctx, "", "", func(u kit.User) error {
		agent := func(ctx context.Context, every time.Duration) (cost, error) { return readAgent(ctx, u, every, each) }
		peer := func(ctx context.Context, every time.Duration) (cost, error) {
			return readExporter(ctx, path, every, each)
		}
		before, _, err := kit.ReadCPU()
		if err != nil {
			return err
		}
		kit.Head(os.Stdout, "reader", "times a second", "of a core", "most memory", "sent")
		for _, every := range []time.Duration{time.Second, 100 * time.Millisecond} {
			for _, r := range []struct {
				name string
				read func(context.Context, time.Duration) (cost, error)
			}{{"linerate's agent", agent}, {"node_exporter", peer}} {
				c, err := r.read(ctx, every)
				if err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
				fmt.Printf("| %s | %.0f | %.2f%% | %v | %.0f kbit/s |\n", r.name, 1/every.Seconds(), 100*c.cpu.Seconds()/each.Seconds(), c.memory, 8*float64(c.sent)/1000/each.Seconds())
			}
		}
		after, _, err := kit.ReadCPU()
		if err != nil {
			return err
		}
		d := after.Since(before)
		fmt.Printf("\n%v each, in turns; the machine's cores were busy for %.0f%% of the time meanwhile.\n", each, 100*d.Share(d.Busy))
		return nil
	})
}

// cost is what one reader took.
type cost struct {
	cpu    time.Duration
	memory unit.Bytes
	sent   unit.Bytes
}

// readAgent samples this host through an agent.
func readAgent(ctx context.Context, u kit.User, every, long time.Duration) (c cost, err error) {
	a, err := host.Dial(ctx, host.Endpoint{Name: "localhost", Self: []string{u.Binary}}, host.Options{Now: time.Now})
	if err != nil {
		return c, err
	}
	defer a.Close()
	pid, err := child("agent")
	if err != nil {
		return c, err
	}
	before, err := spent(pid)
	if err != nil {
		return c, err
	}
	quiet, err := written(pid)
	if err != nil {
		return c, err
	}
	var came atomic.Int64
	stop, err := a.PassSampling(ctx, measure.Watch{Addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1")}, FindOwners: true, Counters: explain.Counters()}, every, func(model.Sample) { came.Add(1) })
	if err != nil {
		return c, err
	}
	if err := rest(ctx, long); err != nil {
		return c, err
	}
	after, err := spent(pid)
	if err != nil {
		return c, err
	}
	c.cpu = after - before
	if c.sent, err = written(pid); err != nil {
		return c, err
	}
	c.sent -= quiet
	if c.memory, err = most(pid); err != nil {
		return c, err
	}
	if _, err := stop(); err != nil || came.Load() == 0 {
		return c, errors.Join(err, errors.New("no sample"))
	}
	return c, nil
}

// readExporter asks a node_exporter of its own.
func readExporter(ctx context.Context, path string, every, long time.Duration) (c cost, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return c, err
	}
	at := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return c, err
	}
	cmd := exec.CommandContext(ctx, path, "--web.listen-address="+at)
	if err := cmd.Start(); err != nil {
		return c, err
	}
	defer func() {
		_ = cmd.Process.Kill() // it keeps nothing
		_ = cmd.Wait()
	}()
	ask := func() (int64, error) {
		resp, err := http.Get("http://" + at + "/metrics")
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		return io.Copy(io.Discard, resp.Body)
	}
	for began := time.Now(); ; {
		if _, err = ask(); err == nil {
			break
		}
		if time.Since(began) > 10*time.Second {
			return c, err
		}
		if err := rest(ctx, 100*time.Millisecond); err != nil {
			return c, err
		}
	}
	before, err := spent(cmd.Process.Pid)
	if err != nil {
		return c, err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for end := time.Now().Add(long); time.Now().Before(end); {
		n, err := ask()
		if err != nil {
			return c, err
		}
		c.sent += unit.Bytes(n)
		select {
		case <-ctx.Done():
			return c, ctx.Err()
		case <-tick.C:
		}
	}
	after, err := spent(cmd.Process.Pid)
	if err != nil {
		return c, err
	}
	c.cpu = after - before
	c.memory, err = most(cmd.Process.Pid)
	return c, err
}

// trickle keeps a connection of the loopback busy with a little, so that there is one to be watched.
func trickle(ctx context.Context) (end func(), err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, c) }() // until it is closed
		}
	}()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		cancel()
		return nil, errors.Join(err, ln.Close())
	}
	go func() {
		for some := make([]byte, 64<<10); rest(ctx, 50*time.Millisecond) == nil; {
			if _, err := c.Write(some); err != nil {
				return
			}
		}
	}()
	return func() {
		cancel()
		_ = c.Close() // nothing is kept
		_ = ln.Close()
	}, nil
}

func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// child is this process's child that was started with an argument.
func child(arg string) (int, error) {
	all, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // the thread ended
		}
		for _, pid := range strings.Fields(string(b)) {
			line, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err == nil && bytes.Contains(line, []byte("\x00"+arg+"\x00")) {
				return strconv.Atoi(pid)
			}
		}
	}
	return 0, fmt.Errorf("find the process of %s: there is none", arg)
}

// spent is the CPU time of a process (proc(5), /proc/PID/stat, fields 14 and 15).
func spent(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("read CPU time of process %d: %d fields", pid, len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const tick = 10 * time.Millisecond // USER_HZ is 100
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// written is what a process has written so far (wchar of /proc/PID/io): of an agent, what it sent.
func written(pid int) (unit.Bytes, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "wchar: "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return unit.Bytes(n), err
		}
	}
	return 0, fmt.Errorf("read what process %d has written: there is no wchar", pid)
}

// most is the most memory that a process had (VmHWM).
func most(pid int) (unit.Bytes, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
			return unit.Bytes(kib) * unit.KiB, err
		}
	}
	return 0, fmt.Errorf("read memory of process %d: there is no VmHWM", pid)
}
