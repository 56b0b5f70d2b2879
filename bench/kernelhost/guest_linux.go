package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel hands parameters that it does not know to init as environment.
const (
	roleVar   = "kernelhost_role"
	workVar   = "kernelhost_work"
	roleParam = roleVar + "="
	workParam = workVar + "="
	serial    = "/dev/ttyS0"
	ready     = "ready"
	guestBin  = "/mnt/bin" // the bench and linerate, on the guest's own tmpfs
)

// guestRole is what this process has to be if it is a guest's init, else "".
func guestRole() string {
	if os.Getpid() != 1 {
		return ""
	}
	return os.Getenv(roleVar)
}

// guest is the state of one kernel's init.
type guest struct {
	work string // the one directory of the machine that can be written to

	mu     sync.Mutex // of out
	out    *os.File
	copies copies
	disk   disk
}

// guestMain is init of a guest: it never returns while the kernel runs.
func guestMain(role string) {
	g := &guest{work: os.Getenv(workVar)}
	if err := g.prepare(role); err != nil {
		fmt.Fprintf(os.Stderr, "prepare %s: %v\n", role, err)
		powerOff()
	}
	if err := g.serve(); err != nil {
		fmt.Fprintf(os.Stderr, "serve %s: %v\n", role, err)
	}
	powerOff()
}

func powerOff() {
	unix.Sync()
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	fmt.Fprintf(os.Stderr, "power off: %v\n", err)
	select {}
}

// prepare mounts what a host has and keeps copies of the programs where the
// guest can reach them once /tmp is its own.
func (g *guest) prepare(role string) error {
	for _, m := range []struct{ dir, kind, data string }{
		{"/proc", "proc", ""}, {"/sys", "sysfs", ""}, {"/mnt", "tmpfs", "mode=755"},
	} {
		if err := mount(m.dir, m.kind, m.data); err != nil {
			return err
		}
	}
	for _, dir := range []string{"bin", "nas", "local", "work", "export"} {
		if err := os.Mkdir(filepath.Join("/mnt", dir), 0o755); err != nil {
			return err
		}
	}
	if err := copyFile("/proc/self/exe", guestBin+"/kernelhost"); err != nil {
		return err
	}
	if under := filepath.Join(g.work, "linerate"); exists(under) {
		if err := copyFile(under, guestBin+"/linerate"); err != nil {
			return err
		}
	}
	if err := mount("/mnt/work", "hostfs", g.work); err != nil {
		return err
	}
	for _, dir := range []string{"/tmp", "/run", "/mnt/local"} {
		if err := mount(dir, "tmpfs", "mode=1777"); err != nil {
			return err
		}
	}
	g.work = "/mnt/work"
	if err := unix.Sethostname([]byte(role)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return interfaceUp("lo", "")
}

func mount(dir, kind, data string) error {
	if err := unix.Mount("none", dir, kind, 0, data); err != nil {
		return fmt.Errorf("mount %s on %s: %w", kind, dir, err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// serve answers requests from the serial line, each in its own goroutine.
func (g *guest) serve() error {
	line, err := os.OpenFile(serial, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	if err := rawTerminal(line); err != nil {
		return err
	}
	g.out = line
	// Nothing is sent to the guest before it says that it listens: input that
	// waits while the kernel boots gets its terminals stuck.
	if _, err := fmt.Fprintln(line, ready); err != nil {
		return fmt.Errorf("write %s: %w", serial, err)
	}
	in := bufio.NewReader(line)
	for {
		b, err := in.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read %s: %w", serial, err)
		}
		var req request
		if err := json.Unmarshal(b, &req); err != nil {
			fmt.Fprintf(os.Stderr, "request %q: %v\n", b, err)
			continue
		}
		go g.answer(req)
	}
}

// rawTerminal has bytes pass as they are. It leaves the file to the poller: a
// read that blocks its thread would hold up the one processor.
func rawTerminal(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) {
		t, err := unix.IoctlGetTermios(int(fd), unix.TCGETS)
		if err == nil {
			t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
			t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
			err = unix.IoctlSetTermios(int(fd), unix.TCSETS, t)
		}
		failed = err
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("make terminal %s raw: %w", serial, err)
	}
	return nil
}

func (g *guest) answer(req request) {
	value, err := g.do(req.Op, req.Args)
	rep := reply{ID: req.ID}
	if err == nil {
		rep.Value, err = json.Marshal(value)
	}
	if err != nil {
		rep = reply{ID: req.ID, Error: err.Error()}
	}
	b, err := json.Marshal(rep)
	if err != nil {
		fmt.Fprintf(os.Stderr, "answer %s: %v\n", req.Op, err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, err := g.out.Write(append(b, '\n')); err != nil {
		fmt.Fprintf(os.Stderr, "answer %s: %v\n", req.Op, err)
	}
}

// do is the list of what a guest can be asked.
func (g *guest) do(op string, args json.RawMessage) (any, error) {
	switch op {
	case "halt":
		go func() {
			time.Sleep(50 * time.Millisecond) // let the answer out
			powerOff()
		}()
		return nil, nil
	case "modules":
		return with(args, loadModules)
	case "address":
		return with(args, func(a addressArgs) error { return interfaceUp(a.Dev, a.Addr) })
	case "shape":
		return with(args, shape)
	case "sysctl":
		return with(args, setSysctls)
	case "serve-nfs":
		return with(args, serveNFS)
	case "throttle-disk":
		return with(args, g.disk.throttle)
	case "mount-nfs":
		return with(args, mountNFS)
	case "remount-nfs":
		return with(args, remountNFS)
	case "start-copy":
		return with(args, g.copies.start)
	case "stop-copy":
		return g.copies.stop()
	case "record":
		return with(args, g.record)
	case "run":
		return withValue(args, g.run)
	}
	return nil, fmt.Errorf("unknown request %q", op)
}

func with[A any](raw json.RawMessage, f func(A) error) (any, error) {
	return withValue(raw, func(a A) (any, error) { return nil, f(a) })
}

func withValue[A, V any](raw json.RawMessage, f func(A) (V, error)) (any, error) {
	var a A
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, fmt.Errorf("decode arguments: %w", err)
	}
	return f(a)
}

// runArgs start a program in the guest; its output goes to
// <work>/<Name>.out and .err, the run bundles it left behind to <Name>.runs.
type runArgs struct {
	Name    string        `json:"name"`
	Argv    []string      `json:"argv"`
	UID     int           `json:"uid"`
	Timeout time.Duration `json:"timeout"`
}

type runResult struct {
	Exit int           `json:"exit"` // -1: ended by a signal, the timeout's too
	Took time.Duration `json:"took"`
}

func (g *guest) run(a runArgs) (runResult, error) {
	home := fmt.Sprintf("/tmp/home-%d", a.UID)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return runResult{}, err
	}
	if err := os.Chown(home, a.UID, a.UID); err != nil {
		return runResult{}, err
	}
	stdout, err := os.Create(filepath.Join(g.work, a.Name+".out"))
	if err != nil {
		return runResult{}, err
	}
	defer stdout.Close()
	stderr, err := os.Create(filepath.Join(g.work, a.Name+".err"))
	if err != nil {
		return runResult{}, err
	}
	defer stderr.Close()
	cmd := exec.Command(a.Argv[0], a.Argv[1:]...)
	cmd.Env = []string{"HOME=" + home, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=/tmp"}
	cmd.Stdout, cmd.Stderr, cmd.Dir = stdout, stderr, home
	cmd.SysProcAttr = asUser(a.UID)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return runResult{}, err
	}
	timer := time.AfterFunc(a.Timeout, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return runResult{}, err
	}
	res := runResult{Exit: cmd.ProcessState.ExitCode(), Took: time.Since(began)}
	bundles := filepath.Join(home, ".local/share/linerate/runs")
	if !exists(bundles) {
		return res, nil
	}
	if err := os.CopyFS(filepath.Join(g.work, a.Name+".runs"), os.DirFS(bundles)); err != nil {
		return res, err
	}
	return res, os.RemoveAll(bundles)
}
