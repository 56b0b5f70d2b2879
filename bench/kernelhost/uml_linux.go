package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	umlKernel  = "linux.uml"
	umlModules = "/usr/lib/uml/modules"
)

// findKernel says in one line how to get what is missing.
func findKernel() error {
	_, err := exec.LookPath(umlKernel)
	if err == nil {
		_, err = os.Stat(umlModules)
	}
	if err != nil {
		return fmt.Errorf("find User-Mode Linux: %w; get it with: apt-get install --no-install-recommends user-mode-linux", err)
	}
	return nil
}

// request and reply are one line of JSON each on the guest's serial line.
type request struct {
	ID   int             `json:"id"`
	Op   string          `json:"op"`
	Args json.RawMessage `json:"args,omitempty"`
}

type reply struct {
	ID    int             `json:"id"`
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// machine is one running kernel. Calls may be made from several goroutines.
type machine struct {
	name string
	cmd  *exec.Cmd
	line io.WriteCloser
	up   chan struct{} // closed when the guest listens
	gone chan struct{} // closed when the kernel has ended

	mu      sync.Mutex
	next    int
	waiting map[int]chan reply
}

// boot starts a kernel whose init is this very program in the given role, and
// waits until it answers. tap may be empty. Its console goes to
// <work>/<role>.log; work is the only directory it can write to.
func boot(ctx context.Context, work, role, tap string, memMB int) (*machine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(work, role+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	line, far, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	argv := []string{
		fmt.Sprintf("mem=%dM", memMB), "rootfstype=hostfs", "rootflags=/", "ro", "init=" + self,
		"con=null", "con0=null,fd:1", "ssl=null", "ssl0=fd:3", "umid=kernelhost-" + role, "uml_dir=" + work + "/uml",
		roleParam + role, workParam + work, "panic=-1",
	}
	if tap != "" {
		argv = append(argv, "vec0:transport=tap,ifname="+tap+",depth=128,gro=1,mtu=1500")
	}
	cmd := exec.Command(umlKernel, argv...)
	cmd.Env = append(os.Environ(), "TMPDIR=/dev/shm")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{far}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("boot %s: %w", role, err)
	}
	far.Close()
	m := &machine{name: role, cmd: cmd, line: line, up: make(chan struct{}), gone: make(chan struct{}), waiting: map[int]chan reply{}}
	go m.read(line)
	select {
	case <-m.up:
		return m, nil
	case <-m.gone:
		err = errors.New("the kernel ended")
	case <-time.After(30 * time.Second):
		err = errors.New("no answer in 30 s")
	case <-ctx.Done():
		err = ctx.Err()
	}
	m.halt()
	return nil, fmt.Errorf("boot %s: %w; see its console in %s.log (-keep)", role, err, role)
}

// socketPair is a serial cable.
func socketPair() (near, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make serial line: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "serial line"), os.NewFile(uintptr(fds[1]), "serial line"), nil
}

// read hands replies to their callers until the kernel ends.
func (m *machine) read(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var rep reply
		if string(bytes.TrimSpace(line)) == ready {
			close(m.up)
			continue
		}
		if json.Unmarshal(line, &rep) != nil {
			fmt.Fprintf(os.Stderr, "kernelhost: %s said %q\n", m.name, line)
			continue
		}
		m.mu.Lock()
		ch := m.waiting[rep.ID]
		delete(m.waiting, rep.ID)
		m.mu.Unlock()
		if ch != nil {
			ch <- rep
		}
	}
	close(m.gone)
}

// call has the guest do op and decodes what it answers into value.
func (m *machine) call(ctx context.Context, op string, args, value any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	ch := make(chan reply, 1)
	m.mu.Lock()
	m.next++
	id := m.next
	m.waiting[id] = ch
	line, err := json.Marshal(request{ID: id, Op: op, Args: raw})
	if err == nil {
		_, err = m.line.Write(append(line, '\n'))
	}
	m.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s on %s: %w", op, m.name, err)
	}
	select {
	case rep := <-ch:
		if rep.Error != "" {
			return fmt.Errorf("%s on %s: %s", op, m.name, rep.Error)
		}
		if value == nil {
			return nil
		}
		return json.Unmarshal(rep.Value, value)
	case <-m.gone:
		return fmt.Errorf("%s on %s: the kernel ended", op, m.name)
	case <-ctx.Done():
		return fmt.Errorf("%s on %s: %w", op, m.name, ctx.Err())
	}
}

// halt ends the kernel: politely, then not.
func (m *machine) halt() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := m.call(ctx, "halt", nil, nil); errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(os.Stderr, "kernelhost: %s did not halt; ending it\n", m.name)
	}
	// A kernel that is killed lets go of its processes, which then go on as
	// the machine's own: it gets the time to end them itself.
	select {
	case <-m.gone:
	case <-ctx.Done():
	}
	_ = m.cmd.Process.Kill() // it has ended already if it halted
	_ = m.cmd.Wait()
	m.line.Close()
}
