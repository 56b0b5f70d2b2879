package guest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/yamux"

	"linerate/internal/kernel"
	"linerate/internal/lab/wire"
)

// KeepRole is the hidden subcommand that keeps a host's kernel running.
const KeepRole = "lab-guest"

// Boot is the kernel that a keeper starts.
type Boot struct {
	Name string `json:"name"`
	// Argv starts the kernel. Descriptor 3 is its end of the cable, unless Cable is set: then
	// Dial connects to it.
	Argv   []string `json:"argv"`
	Env    []string `json:"env"`
	Cable  string   `json:"cable,omitempty"`
	Socket string   `json:"socket"` // for commands: the SOCKET argument of RunMain
	Log    string   `json:"log"`    // file for what the process prints
	// Console is a file with what the kernel prints; empty: Log has it.
	Console string        `json:"console,omitempty"`
	Within  time.Duration `json:"within"` // time for the kernel to boot
}

// Operations of a keeper.
const (
	OpBoot = "boot" // of a Boot; answers when the host runs commands
	OpHalt = "halt" // powers the host off; kills a kernel that does not
)

// Dial connects to the cable of a machine as soon as the machine listens for it.
type Dial func(ctx context.Context, cable string) (net.Conn, error)

// KeepMain is a process that keeps one host's kernel running until its input
// ends, with requests on stdin and answers on stdout (package wire). It returns
// the exit status.
func KeepMain(ctx context.Context, stdin io.Reader, stdout io.Writer, dial Dial) int {
	k := &keeper{ctx: ctx, dial: dial}
	code := wire.Main(stdin, stdout, map[string]wire.Handler{
		OpBoot: wire.Do(k.boot),
		OpHalt: wire.Do(func(struct{}) error { return k.halt() }),
	})
	if err := k.halt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

type keeper struct {
	ctx     context.Context
	dial    Dial
	b       Boot
	cmd     *kernel.Cmd
	ended   chan struct{} // closed when the kernel has ended
	session *yamux.Session
	ln      net.Listener
}

func (k *keeper) boot(b Boot) error {
	if k.cmd != nil {
		return fmt.Errorf("boot %s: it is up", b.Name)
	}
	k.b = b
	if err := k.start(); err != nil {
		return errors.Join(fmt.Errorf("boot %s: %w%s", b.Name, err, k.lastWords()), k.halt())
	}
	return nil
}

func (k *keeper) start() error {
	log, err := os.OpenFile(k.b.Log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := kernel.Exec(context.WithoutCancel(k.ctx), k.b.Argv...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), k.b.Env...), log, log
	// User-Mode Linux traces its processes. If it is killed, they continue as processes of
	// this machine, and their system calls, among them reboot(2), act on it. In a PID
	// namespace whose first process is the kernel they are killed with it.
	kernel.InNewNamespaces(cmd, kernel.Namespaces{PID: true})
	var near io.ReadWriteCloser
	if k.b.Cable == "" {
		pair, far, err := kernel.SocketPair()
		if err != nil {
			return err
		}
		defer far.Close()
		near, cmd.ExtraFiles = pair, []*os.File{far}
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, closeAny(near))
	}
	k.cmd, k.ended = cmd, make(chan struct{})
	ended := k.ended
	go func() {
		_ = cmd.Wait() // the reason is in its log
		close(ended)
	}()
	return k.connect(near)
}

func closeAny(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// connect waits until the host listens at its end of the cable.
func (k *keeper) connect(near io.ReadWriteCloser) error {
	ctx, cancel := context.WithTimeout(k.ctx, k.b.Within)
	defer cancel()
	type result struct {
		cable io.ReadWriteCloser
		err   error
	}
	done := make(chan result, 1)
	go func() {
		var err error
		if near == nil {
			near, err = k.dial(ctx, k.b.Cable)
		}
		if err == nil {
			err = awaitReady(near)
		}
		done <- result{near, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return errors.Join(r.err, closeAny(r.cable))
		}
		return k.serve(r.cable)
	case <-k.ended:
		return errors.New("the kernel ended")
	case <-ctx.Done():
		return fmt.Errorf("it did not come up within %v: %w", k.b.Within, ctx.Err())
	}
}

// awaitReady reads up to and including the line "ready" of the host. It skips earlier output
// of the firmware or the kernel.
func awaitReady(r io.Reader) error {
	var seen []byte
	one := make([]byte, 1)
	for !bytes.HasSuffix(seen, []byte(ready)) {
		if _, err := io.ReadFull(r, one); err != nil {
			return fmt.Errorf("await host: %w", err)
		}
		if seen = append(seen, one[0]); len(seen) > 1<<16 {
			return fmt.Errorf("await host: it says %q", seen[:80])
		}
	}
	return nil
}

// serve connects each connection of the socket to a new stream of the cable.
func (k *keeper) serve(cable io.ReadWriteCloser) error {
	session, err := yamux.Client(cable, cableConfig())
	if err != nil {
		return errors.Join(err, cable.Close())
	}
	if err := os.Remove(k.b.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, session.Close())
	}
	ln, err := kernel.ListenUnix(k.b.Socket)
	if err != nil {
		return errors.Join(err, session.Close())
	}
	k.session, k.ln = session, ln
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return // halt closes it
			}
			go join(session, conn)
		}
	}()
	return nil
}

func join(session *yamux.Session, conn net.Conn) {
	defer conn.Close()
	stream, err := session.Open()
	if err != nil {
		return // the client sees it as the end of the connection
	}
	defer stream.Close()
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(stream, conn) // either end may close first
		_ = stream.Close()
		close(gone)
	}()
	_, _ = io.Copy(conn, stream) // as above
	_ = conn.Close()
	<-gone
}

// haltWithin bounds how long a host may take to write back dirty pages and power off.
const haltWithin = 5 * time.Second

func (k *keeper) halt() error {
	if k.cmd == nil {
		return nil
	}
	var errs []error
	if k.session != nil {
		k.powerOff()
		errs = append(errs, k.ln.Close())
	}
	select {
	case <-k.ended:
	case <-time.After(haltWithin):
	}
	errs = append(errs, kernel.EndGroup(k.cmd.Process.Pid))
	<-k.ended
	if k.session != nil {
		_ = k.session.Close() // the other end is closed already
	}
	k.cmd, k.session, k.ln = nil, nil, nil
	return errors.Join(errs...)
}

// powerOff requests a shutdown; halt kills a kernel that does not answer.
func (k *keeper) powerOff() {
	stream, err := k.session.Open()
	if err != nil {
		return
	}
	defer stream.Close()
	if err := stream.SetDeadline(time.Now().Add(haltWithin)); err != nil {
		return
	}
	b, err := json.Marshal(request{Off: true})
	if err != nil {
		return
	}
	if err := (&frames{w: stream}).send(kindRequest, b); err == nil {
		_, _, _ = readFrame(stream) // returns when the host has read the request
	}
}

// lastWords returns the end of the kernel's console output.
func (k *keeper) lastWords() string {
	b, err := os.ReadFile(cmp.Or(k.b.Console, k.b.Log))
	if err != nil {
		return ""
	}
	words := telling(string(b))
	if words == "" {
		return ""
	}
	return "; its console says: " + words
}

// telling returns the end of console output without the registers and stacks that a kernel
// prints when it panics because its first process has exited: the message of that process is
// the reason.
func telling(console string) string {
	const tail = 600
	var lines []string
	for line := range strings.Lines(console) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "[") && !strings.Contains(line, "panic") && !strings.Contains(line, "rror") {
			continue
		}
		lines = append(lines, line)
	}
	if panics := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "Kernel panic") }); panics >= 0 {
		lines = lines[:panics+1]
	}
	words := strings.Join(lines, "\n")
	return words[max(0, len(words)-tail):]
}
