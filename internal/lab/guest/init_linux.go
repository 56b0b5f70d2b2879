package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"linerate/internal/kernel"
)

// InitRole is the hidden subcommand that a host's kernel starts as its first
// process.
const InitRole = "lab-init"

// serveRole is the process that serves commands; the first process only reaps orphans.
const serveRole = "serve"

// Device is how a device host gets its root and its cable (package qemu).
type Device struct {
	EnterRoot func() error
	Open      func(ctx context.Context) (*os.File, error)
}

// InitMain is the first process of a host. The kernel starts it with the parameters of Params,
// in its environment or as arguments. It never returns.
func InitMain(args []string, getenv func(string) string, d Device) int {
	getenv = merged(args, getenv)
	if len(args) > 0 && args[0] == serveRole {
		if err := serveInside(getenv, d); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, InitRole+": only a lab host's kernel starts this")
		return 1
	}
	if err := initialise(args, getenv, d); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	unix.Sync()
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	fmt.Fprintf(os.Stderr, "power off: %v\n", err)
	select {}
}

func initialise(args []string, getenv func(string) string, d Device) error {
	p, err := parseParams(getenv)
	if err != nil {
		return err
	}
	if p.Line == VirtioLine {
		err = d.EnterRoot()
	} else {
		err = enterRoot(p)
	}
	if err == nil {
		err = nameInterfaces(p.Ports)
	}
	if err != nil {
		return err
	}
	cmd := kernel.Exec(context.Background(), append([]string{"/proc/self/exe", InitRole, serveRole}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdout, os.Stderr, os.Environ()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start commands: %w", err)
	}
	// Orphans become children of the first process, which therefore waits for any child; it
	// must not use functions that wait for a certain one.
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid == cmd.Process.Pid {
			return err
		}
	}
}

// enterRoot creates the root that the host's processes see: the machine's file tree below a
// layer of the host's own, which is on the host's disk if it has one.
func enterRoot(p Params) error {
	if err := mountAll([]mountSpec{{"proc", "/proc", "proc", ""}, {"dev", "/dev", "devtmpfs", ""}, {"layer", layerDir, "tmpfs", "mode=755"}}); err != nil {
		return err
	}
	if err := loadModules(p.Modules, []string{"overlay", "ext4"}); err != nil {
		return err
	}
	upper := layerDir + "/upper"
	if err := os.Mkdir(upper, 0o755); err != nil {
		return err
	}
	if p.Disk != "" {
		if err := mountAll([]mountSpec{{p.Disk, upper, "ext4", ""}}); err != nil {
			return err
		}
	}
	for _, d := range []string{upper + "/files", upper + "/work", layerDir + "/root"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := layerDir + "/root"
	data := fmt.Sprintf("lowerdir=/,upperdir=%s/files,workdir=%s/work", upper, upper)
	if err := mountAll([]mountSpec{
		{"root", root, "overlay", data}, {"proc", root + "/proc", "proc", ""}, {"sys", root + "/sys", "sysfs", ""},
		{"dev", root + "/dev", "devtmpfs", ""}, {"run", root + "/run", "tmpfs", "mode=755"},
	}); err != nil {
		return err
	}
	if p.Keep != "" {
		if err := os.MkdirAll(root+p.Keep, 0o700); err != nil {
			return err
		}
		if err := unix.Mount(p.Keep, root+p.Keep, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show %s: %w", p.Keep, err)
		}
	}
	// The kernel's threads share the root of the first process, so that programs which they
	// start (modprobe) see this root too.
	if err := unix.Chroot(root); err != nil {
		return fmt.Errorf("enter root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return afterRoot(p)
}

// layerDir is a directory that every file tree has.
const layerDir = "/mnt"

type mountSpec struct{ what, dir, kind, data string }

func mountAll(specs []mountSpec) error {
	for _, m := range specs {
		// If an ordinary user started the kernel, root's files seem to belong to user nobody,
		// and a set-user-ID program of root would run as nobody.
		err := unix.Mount(m.what, m.dir, m.kind, unix.MS_NOSUID, m.data)
		if err != nil && !errors.Is(err, unix.EBUSY) { // the kernel may have mounted it itself
			return fmt.Errorf("mount %s on %s: %w", m.kind, m.dir, err)
		}
	}
	return nil
}

func afterRoot(p Params) error {
	if err := os.MkdirAll("/dev/pts", 0o755); err != nil {
		return err
	}
	if err := mountAll([]mountSpec{{"pts", "/dev/pts", "devpts", ""}}); err != nil {
		return err
	}
	if err := os.MkdirAll("/dev/shm", 0o1777); err != nil {
		return err
	}
	if err := mountAll([]mountSpec{{"shm", "/dev/shm", "tmpfs", "mode=1777"}, {"cgroup", "/sys/fs/cgroup", "cgroup2", ""}}); err != nil {
		return err
	}
	return offerModules(p.Modules)
}

// nameInterfaces gives each interface the name that the topology has for it.
func nameInterfaces(ports []Port) error {
	all, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list interfaces: %w", err)
	}
	for _, p := range ports {
		found := false
		for _, i := range all {
			if i.HardwareAddr.String() != p.MAC {
				continue
			}
			found = true
			if i.Name == p.Name {
				continue
			}
			if err := kernel.RenameInterface(i.Name, p.Name); err != nil {
				return err
			}
		}
		if !found {
			return fmt.Errorf("name interface %s: none has address %s", p.Name, p.MAC)
		}
	}
	return nil
}

// offerModules mounts the kernel's modules where modprobe looks for them.
func offerModules(dir string) error {
	link := filepath.Join("/lib/modules", filepath.Base(dir))
	if _, err := os.Stat(link); err == nil {
		return nil
	}
	if err := os.MkdirAll("/lib/modules", 0o755); err != nil {
		return err
	}
	return os.Symlink(dir, link)
}

// loadModules loads modules with their dependencies. It skips modules that are built into the
// kernel.
func loadModules(dir string, names []string) error {
	text, err := os.ReadFile(filepath.Join(dir, "modules.dep"))
	if err != nil {
		return fmt.Errorf("load modules: %w", err)
	}
	for _, name := range names {
		for _, p := range moduleFiles(string(text), name) {
			if err := insert(filepath.Join(dir, p)); err != nil {
				return err
			}
		}
	}
	return nil
}

func insert(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("load module: %w", err)
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("load module %s: %w", path, err)
	}
	return nil
}

// serveInside opens the cable and runs commands.
func serveInside(getenv func(string) string, d Device) error {
	p, err := parseParams(getenv)
	if err != nil {
		return err
	}
	var line *os.File
	if p.Line == VirtioLine {
		line, err = d.Open(context.Background())
	} else {
		line, err = openSerial(p.Line)
	}
	if err != nil {
		return fmt.Errorf("open cable: %w", err)
	}
	// The environment has the kernel's parameters; commands get the environment of the client.
	os.Clearenv()
	return serve(cable{line})
}

// cable hides the methods of a file beyond Read, Write and Close.
type cable struct{ io.ReadWriteCloser }

func openSerial(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	if err := rawTerminal(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// rawTerminal sets the terminal so that it passes bytes unaltered. The file stays with Go's
// poller: a read that blocks its thread would stall the host's only CPU.
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
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("make %s raw: %w", f.Name(), err)
	}
	return nil
}
