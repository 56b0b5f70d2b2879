package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
	"linerate/internal/lab/fabric"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/guest"
	"linerate/internal/lab/qemu"
	"linerate/internal/lab/server"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/uml"
	"linerate/internal/unit"
)

// TestMain makes the test binary its own helpers, as linerate is.
func TestMain(m *testing.M) {
	// The race detector would hold up the end of every helper for a second.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == deviceRole {
		// Tests that run inside a machine of the lab, as its own.
		if err := os.Setenv(deviceEnv, "1"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Args = []string{os.Args[0], "-test.run=^TestInDevice", "-test.v"}
		os.Exit(m.Run())
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "lab-") {
		os.Exit(subcommand(os.Args[1], os.Args[2:]))
	}
	if os.Getuid() == 0 && os.Getenv(ownMounts) == "" {
		os.Exit(withOwnMounts())
	}
	os.Exit(m.Run())
}

// ownMounts in the environment tells that the tests run in a mount namespace of their own.
const ownMounts = "LINERATE_TEST_OWN_MOUNTS"

// withOwnMounts runs the tests in a mount namespace that nobody else mounts in, so that they can
// compare all mounts before and after a lab. It is shared with those below it, as the machine's own
// is: what a lab fails to keep to itself shows.
func withOwnMounts() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), ownMounts+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // the end of the thread that starts it would end it
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: unix.SIGKILL}
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return cmd.ProcessState.ExitCode()
}

func subcommand(name string, args []string) int {
	switch name {
	case "lab-holder":
		return HolderMain(os.Stdin, os.Stdout)
	case "lab-fabric":
		return fabric.Main(os.Stdin, os.Stdout)
	case "lab-enter":
		return EnterMain(args)
	case guest.InitRole:
		return guest.InitMain(args, os.Getenv, guest.Device{EnterRoot: qemu.EnterRoot, Open: qemu.OpenControl})
	case guest.KeepRole:
		return guest.KeepMain(context.Background(), os.Stdin, os.Stdout, qemu.Dial)
	case guest.RunRole:
		return guest.RunMain(context.Background(), args, os.Stdin, os.Stdout, os.Stderr)
	case uml.BootRole:
		return uml.BootMain(args, os.Stderr)
	case server.KernelRole:
		return server.KernelMain(context.Background(), args, os.Stderr)
	case "lab-probe":
		return server.ProbeMain(args, os.Stderr)
	case fault.SqueezeRole:
		return fault.SqueezeMain(context.Background(), args, os.Stderr)
	}
	var err error
	switch name {
	case "lab-test-sink":
		err = sink(args[0])
	case "lab-test-source":
		err = source(args)
	case "lab-test-ping":
		err = ping(args[0])
	case "lab-test-echo":
		err = echo(args[0])
	case "lab-test-owner":
		err = owner(args[0], args[1])
	case "lab-test-user-owner":
		return inUserNS(func() error { return owner(args[0], "") }, append([]string{name}, args...))
	case "lab-test-sweep":
		err = sweep(args[0])
	case "lab-test-user":
		return asUser(args)
	case "lab-test-cache":
		err = cache(args[0])
	case "lab-test-capped":
		err = capped(args[0])
	case "lab-test-seen":
		err = seen()
	default:
		err = fmt.Errorf("unknown subcommand %s", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		return 1
	}
	return 0
}

const testPort = "7001"

// sink prints "ready", takes one connection and prints the bits per second
// that arrived in each tenth of a second.
func sink(addr string) error {
	ln, err := net.Listen("tcp4", net.JoinHostPort(addr, testPort))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	c, err := ln.Accept()
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	var got int64
	started := time.Now()
	mark, atMark := started, int64(0)
	for {
		n, err := c.Read(buf)
		got += int64(n)
		now := time.Now()
		if d := now.Sub(mark); d >= 100*time.Millisecond || err != nil {
			fmt.Printf("%d %d\n", d.Nanoseconds(), got-atMark)
			mark, atMark = now, got
		}
		if err != nil {
			return nil
		}
	}
}

// source sends for args[1] with congestion control args[2].
func source(args []string) error {
	d, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	c, err := dialer.Dial("tcp4", net.JoinHostPort(args[0], testPort))
	if err != nil {
		return err
	}
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var serr error
	err = raw.Control(func(fd uintptr) {
		serr = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, args[2])
	})
	if err != nil || serr != nil {
		return fmt.Errorf("set congestion control: %w %w", err, serr)
	}
	end := time.Now().Add(d)
	if err := c.SetWriteDeadline(end); err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	for time.Now().Before(end) {
		if _, err := c.Write(buf); err != nil {
			break
		}
	}
	return c.(*net.TCPConn).SetLinger(0)
}

func echo(addr string) error {
	ln, err := net.Listen("tcp4", net.JoinHostPort(addr, testPort))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	c, err := ln.Accept()
	if err != nil {
		return err
	}
	_, err = io.Copy(c, c)
	return err
}

// ping prints the least of 20 round trips of one byte.
func ping(addr string) error {
	c, err := net.Dial("tcp4", net.JoinHostPort(addr, testPort))
	if err != nil {
		return err
	}
	defer c.Close()
	least := time.Hour
	b := make([]byte, 1)
	for range 20 {
		t := time.Now()
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
		least = min(least, time.Since(t))
	}
	fmt.Println(least.Nanoseconds())
	return nil
}

// seen prints what a process inside a host sees of it.
func seen() error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir("/sys/class/net")
	if err != nil {
		return err
	}
	var nics []string
	for _, e := range entries {
		nics = append(nics, e.Name())
	}
	cpus, err := kernel.Affinity()
	if err != nil {
		return err
	}
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"host": host, "nics": nics, "cpus": cpus, "wd": wd, "env": os.Getenv("HOSTNAME")})
}

// owner builds a lab, stops after the named step or, without a name, once it is
// up and something runs in it, says so, and waits to be killed.
func owner(state, step string) error {
	id, err := newID()
	if err != nil {
		return err
	}
	o := selfOptions(state)
	o.afterStep = func(name string) error {
		if name == step {
			return waitForEnd(id)
		}
		return nil
	}
	l, err := Up(context.Background(), demoNet(), o)
	if err != nil {
		return err
	}
	sleeper := kernel.Exec(context.Background(), append(l.Enter("server1"), "sleep", "1000")...)
	if err := sleeper.Start(); err != nil {
		return err
	}
	return waitForEnd(l.id)
}

// waitForEnd prints the lab's id but for its random end, which differs here.
func waitForEnd(id string) error {
	fmt.Println(id[:strings.LastIndexByte(id, '-')])
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func sweep(state string) error {
	removed, err := Sweep(context.Background(), Options{StateDir: state})
	fmt.Println(strings.Join(removed, " "))
	return err
}

// demoNet is what linerate demo builds.
func demoNet() topology.Topology {
	t, err := topology.Demo()
	if err != nil {
		panic(err)
	}
	return t
}

func selfOptions(state string) Options {
	return Options{Self: []string{"/proc/self/exe"}, StateDir: state}
}

// transfer runs one stream through the lab and returns its goodput after skip.
func transfer(ctx context.Context, l *Lab, d, skip time.Duration) (unit.BitRate, error) {
	return transferBetween(ctx, l, "client1", "server1", d, skip)
}

func transferBetween(ctx context.Context, l *Lab, client, server string, d, skip time.Duration) (unit.BitRate, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	to := l.Addr(server).String()
	rx := kernel.Exec(ctx, append(l.Enter(server), self, "lab-test-sink", to)...)
	rx.Stderr = os.Stderr
	out, err := rx.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := rx.Start(); err != nil {
		return 0, err
	}
	sc := bufio.NewScanner(out)
	if !sc.Scan() || sc.Text() != "ready" {
		return 0, fmt.Errorf("sink: %q", sc.Text())
	}
	tx := kernel.Exec(ctx, append(l.Enter(client), self, "lab-test-source", to, d.String(), "cubic")...)
	tx.Stderr = os.Stderr
	if err := tx.Run(); err != nil {
		_ = rx.Process.Kill()
		return 0, fmt.Errorf("source: %w", err)
	}
	// A blackholed connection never tells its peer that it is gone.
	timer := time.AfterFunc(2*time.Second, func() { _ = rx.Process.Kill() })
	defer timer.Stop()
	rate := meanRate(sc, d, skip)
	_ = rx.Wait() // killed or not: what counts is what it printed
	return rate, nil
}

// meanRate is what arrived between skip and d, over that time: silence counts.
func meanRate(sc *bufio.Scanner, d, skip time.Duration) unit.BitRate {
	var at time.Duration
	var bytes float64
	for sc.Scan() {
		var ns, n int64
		if _, err := fmt.Sscan(sc.Text(), &ns, &n); err != nil {
			break
		}
		from := at
		at += time.Duration(ns)
		// A tenth that began before skip is a twelfth of what some tests measure.
		if inside := min(at, d) - max(from, skip); inside > 0 {
			bytes += float64(n) * float64(inside) / float64(ns)
		}
	}
	return unit.BitRate(bytes * 8 / (d - skip).Seconds())
}

// asUser builds a lab in a user namespace and measures in it; args are the
// state directory and the fault.
func asUser(args []string) int {
	return inUserNS(func() error { return userRun(args[0], args[1]) }, append([]string{"lab-test-user"}, args...))
}

// inUserNS runs f, in a user namespace where that is needed, as this binary
// with args.
func inUserNS(f func() error, args []string) int {
	need, err := NeedUserNS()
	if err == nil && need {
		code, err := ReexecInUserNS(context.Background(), slices.Concat([]string{"/proc/self/exe"}, args), os.Stdin, os.Stdout, os.Stderr)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return code
	}
	if err == nil {
		err = f()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func userRun(state, fault string) (err error) {
	ctx := context.Background()
	f, err := FindFault(fault)
	if err != nil {
		return err
	}
	l, err := Up(ctx, f.Topology(demoNet()), selfOptions(state))
	if err != nil {
		return err
	}
	defer func() {
		if derr := l.Down(ctx); err == nil {
			err = derr
		}
	}()
	if err := l.Inject(ctx, f); err != nil {
		return err
	}
	rate, err := transfer(ctx, l, 1500*time.Millisecond, 500*time.Millisecond)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"rate": rate, "left_out": l.LeftOut()})
}
