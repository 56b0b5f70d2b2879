package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// meddleRole makes this program one that meddles with the application of a host.
const meddleRole = "judge-meddle"

// meddleLook is how often new connections are looked for.
const meddleLook = 20 * time.Millisecond

// meddleMain runs until ctx ends: option ADDR LEVEL NAME VALUE, halt ADDR ON OFF, or
// blast ADDR RATE ON OFF.
func meddleMain(ctx context.Context, args []string) error {
	if len(args) < 4 {
		return fmt.Errorf("meddle: want a word and its values, got %q", args)
	}
	addr, err := netip.ParseAddr(args[1])
	if err != nil {
		return fmt.Errorf("meddle: %w", err)
	}
	switch args[0] {
	case "option":
		n, err := numbers(args[2:])
		if err != nil || len(n) != 3 {
			return errors.Join(err, fmt.Errorf("meddle: want level, name and value, got %q", args[2:]))
		}
		return setOption(ctx, addr, n[0], n[1], n[2])
	case "halt":
		on, err1 := time.ParseDuration(args[2])
		off, err2 := time.ParseDuration(args[3])
		if err := errors.Join(err1, err2); err != nil {
			return fmt.Errorf("meddle: %w", err)
		}
		return halt(ctx, addr, on, off)
	case "blast":
		return blast(ctx, addr, args[2:])
	}
	return fmt.Errorf("meddle: unknown word %q", args[0])
}

func numbers(words []string) ([]int, error) {
	var out []int
	for _, w := range words {
		n, err := strconv.Atoi(w)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// setOption sets the option on every connection of addr, once on each.
func setOption(ctx context.Context, addr netip.Addr, level, name, value int) error {
	done := map[string]bool{}
	for wait(ctx, meddleLook) {
		held, err := holders(addr)
		if err != nil {
			return err
		}
		for _, h := range held {
			if done[h.socket] {
				continue
			}
			if err := h.set(level, name, value); err != nil {
				fmt.Fprintln(os.Stderr, err)
				continue
			}
			done[h.socket] = true
		}
	}
	return nil
}

// set sets an option by a duplicate of the descriptor (pidfd_getfd(2)).
func (h holding) set(level, name, value int) error {
	p, err := unix.PidfdOpen(h.pid, 0)
	if err != nil {
		return fmt.Errorf("open process %d: %w", h.pid, err)
	}
	defer unix.Close(p)
	fd, err := unix.PidfdGetfd(p, h.fd, 0)
	if err != nil {
		return fmt.Errorf("duplicate descriptor %d of process %d: %w", h.fd, h.pid, err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptInt(fd, level, name, value); err != nil {
		return fmt.Errorf("set option %d/%d to %d: %w", level, name, value, err)
	}
	return nil
}

// halt stops those that hold a connection of addr for off, after on at work.
func halt(ctx context.Context, addr netip.Addr, on, off time.Duration) error {
	for wait(ctx, on) {
		held, err := holders(addr)
		if err != nil {
			return err
		}
		pids := map[int]bool{}
		for _, h := range held {
			pids[h.pid] = true
		}
		for pid := range pids {
			_ = unix.Kill(pid, unix.SIGSTOP) // it may have ended
		}
		time.Sleep(off)
		for pid := range pids {
			_ = unix.Kill(pid, unix.SIGCONT)
		}
	}
	return nil
}

// blast sends datagrams of 1400 bytes: rate in bit/s of the wire, on and off times.
func blast(ctx context.Context, to netip.Addr, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("blast: want rate, on and off, got %q", args)
	}
	rate, err1 := strconv.ParseFloat(args[0], 64)
	on, err2 := time.ParseDuration(args[1])
	off, err3 := time.ParseDuration(args[2])
	conn, err4 := net.Dial("udp", netip.AddrPortFrom(to, 9).String())
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return fmt.Errorf("blast: %w", err)
	}
	defer conn.Close()
	const payload, wire = 1400, 1400 + 8 + 20 + 38
	buf := make([]byte, payload)
	for ctx.Err() == nil {
		began, sent := time.Now(), 0.0
		for on == 0 || time.Since(began) < on {
			due := time.Since(began).Seconds() * rate / 8
			for ; sent < due; sent += wire {
				_, _ = conn.Write(buf) // nobody listens, and is said to
			}
			if !wait(ctx, time.Millisecond) {
				return nil
			}
		}
		wait(ctx, off)
	}
	return nil
}

// holding is a descriptor of a process that is a connection.
type holding struct {
	pid, fd int
	socket  string
}

// holders are those who hold an established connection of the address in this network
// namespace.
func holders(ip netip.Addr) ([]holding, error) {
	sockets, err := established(ip)
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	all, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return nil, err
	}
	var out []holding
	for _, path := range all {
		to, err := os.Readlink(path)
		if err != nil || !sockets[to] {
			continue // closed meanwhile, or another's
		}
		words := strings.Split(path, "/")
		n, err := numbers([]string{words[2], words[4]})
		if err != nil {
			return nil, err
		}
		out = append(out, holding{n[0], n[1], to})
	}
	return out, nil
}

// established reads /proc/net/tcp and tcp6 for connections of a local address.
func established(ip netip.Addr) (map[string]bool, error) {
	a := ip.As4()
	var host [4]byte
	binary.NativeEndian.PutUint32(host[:], binary.BigEndian.Uint32(a[:]))
	form := strings.ToUpper(hex.EncodeToString(host[:]))
	out := map[string]bool{}
	for _, name := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		f, err := os.Open(name)
		if err != nil {
			continue // a kernel without IPv6
		}
		err = scan(f, form, out)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("list connections: %w", err)
		}
	}
	return out, nil
}

func scan(r io.Reader, form string, into map[string]bool) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != "01" {
			continue
		}
		if local, _, _ := strings.Cut(f[1], ":"); strings.HasSuffix(local, form) {
			into["socket:["+f[9]+"]"] = true
		}
	}
	return lines.Err()
}
