// Package uml starts User-Mode Linux: a whole kernel as an ordinary process,
// which is how a host of the lab gets a kernel, modules and a reboot of its
// own where the machine has no hardware virtualisation. It returns the command that starts
// one; package guest keeps it running and talks to it.
//
// The kernel's process sees the machine's file tree read-only and can write to one directory
// only. The package installs nothing.
package uml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/lab/guest"
	"linerate/internal/unit"
)

// Kernel is an installed User-Mode Linux.
type Kernel struct {
	Program string
	Modules string // directory with modules.dep
}

// ErrMissing is the kind of the error when User-Mode Linux is not installed.
var ErrMissing = errors.New("not installed")

// ErrCPU is the kind of the error when it cannot run on this machine's CPUs.
var ErrCPU = errors.New("it cannot run on this CPU")

// Find looks for User-Mode Linux below root ("/"), at the paths of Debian's package.
//
// Errors: ErrMissing, ErrCPU.
func Find(root string) (Kernel, error) {
	k := Kernel{Program: filepath.Join(root, "usr/bin/linux.uml")}
	_, err := os.Stat(k.Program)
	dirs, gerr := filepath.Glob(filepath.Join(root, "usr/lib/uml/modules/*/modules.dep"))
	if err = errors.Join(err, gerr); err != nil || len(dirs) == 0 {
		return k, fmt.Errorf("find User-Mode Linux: %w; apt-get install --no-install-recommends user-mode-linux e2fsprogs", ErrMissing)
	}
	slices.Sort(dirs)
	k.Modules = filepath.Dir(dirs[len(dirs)-1])
	return k, fits(root, filepath.Base(k.Modules))
}

// fits refuses a kernel that cannot run on this CPU. Kernels before 6.13 keep a task's
// registers in a struct of fixed size (arch/x86/um/os-Linux/registers.c), which is too small
// for the tiles of AMX, and the machine's kernel does not accept a part of the registers back
// (PTRACE_SETREGSET: "set fp regs failed, errno = 14").
func fits(root, version string) error {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n < 2 || major > 6 || major == 6 && minor >= 13 {
		return nil // a version that cannot be parsed is not known to be too old
	}
	cpus, err := os.ReadFile(filepath.Join(root, "proc/cpuinfo"))
	if err != nil || !slices.Contains(strings.Fields(string(cpus)), "amx_tile") {
		return nil // if something is wrong, starting it fails with the reason
	}
	return fmt.Errorf("start User-Mode Linux %s: %w: it has AMX, whose registers kernels before 6.13 do not know; use a newer user-mode-linux, or a machine without AMX", version, ErrCPU)
}

// Port is an interface of the host: its tap is in the network namespace that the kernel is
// started in.
type Port struct {
	Name, Tap, MAC string
	MTU            int
}

// Disk is a block device of the host; the first is /dev/ubdb.
type Disk struct {
	Name string
	Size unit.Bytes
}

// Spec is a kernel to be started.
type Spec struct {
	Kernel Kernel
	Name   string
	Work   string // a directory that no other kernel uses
	Init   string // the program that becomes the first process (package guest)
	Memory unit.Bytes
	Ports  []Port
	Keep   string // see guest.Params
	Disks  []Disk // besides the host's own disk
}

// MemoryDir is the directory below Work where BootMain mounts a file system in
// memory.
const MemoryDir = "memory"

const ownDisk = "own"

// ownDiskSize bounds what a host may write. The image is sparse: it takes as much space as was
// written.
const ownDiskSize = 4 * unit.GiB

func (s Spec) disks() []Disk { return append([]Disk{{ownDisk, ownDiskSize}}, s.Disks...) }

func (s Spec) image(d Disk) string { return filepath.Join(s.Work, "disk-"+d.Name) }

// Device is the host's name of its disk number n; 0 is the host's own disk, for the files that
// it writes.
func Device(n int) string { return "/dev/ubd" + string(rune('a'+n)) }

// Command is the command that starts the kernel; file descriptor 3 is the cable.
func Command(s Spec) []string {
	argv := []string{
		// It runs in its own directory, so that its sockets have short names: a path may not
		// be longer than 107 bytes.
		"/usr/bin/env", "-C", s.Work, s.Kernel.Program, fmt.Sprintf("mem=%dM", s.Memory/unit.MiB), "rootfstype=hostfs", "rootflags=/", "ro", "init=" + s.Init,
		"con=null", "con0=null,fd:1", "ssl=null", "ssl0=fd:3", "umid=" + s.Name, "uml_dir=uml", "quiet",
	}
	p := guest.Params{Line: "/dev/ttyS0", Disk: Device(0), Modules: s.Kernel.Modules, Keep: s.Keep}
	for i, d := range s.disks() {
		argv = append(argv, fmt.Sprintf("ubd%d=%s", i, s.image(d)))
	}
	for i, port := range s.Ports {
		// Sizes are those of Documentation/virt/uml/user_mode_linux_howto_v2.rst: long vectors
		// and receive offload for throughput.
		argv = append(argv, fmt.Sprintf("vec%d:transport=tap,ifname=%s,depth=128,gro=1,mac=%s,mtu=%d", i, port.Tap, port.MAC, port.MTU))
		p.Ports = append(p.Ports, guest.Port{MAC: port.MAC, Name: port.Name})
	}
	// If a receive buffer cannot be allocated at once, the driver of these interfaces
	// (arch/um/drivers/vector_kern.c) considers the interface broken and stops sending for
	// good. So some memory has to stay free of page cache.
	argv = append(argv, fmt.Sprintf("sysctl.vm.min_free_kbytes=%d", leaveFree/unit.KiB))
	return append(argv, p.CommandLine()...)
}

// leaveFree was enough in tests with hosts of 256 MiB that read files larger than their
// memory.
const leaveFree = 16 * unit.MiB

// Env has the variables that the command needs: TMPDIR is where the kernel creates the file
// that is its memory.
func Env(s Spec) []string { return []string{"TMPDIR=" + filepath.Join(s.Work, MemoryDir)} }

// Prepare creates the directories and the disks, with file systems, that do not exist yet. A
// disk is sparse: it takes as much space as was written.
func Prepare(s Spec, run func(argv ...string) error) error {
	for _, d := range []string{MemoryDir, "uml"} {
		if err := os.MkdirAll(filepath.Join(s.Work, d), 0o700); err != nil {
			return fmt.Errorf("prepare kernel of %s: %w", s.Name, err)
		}
	}
	for _, d := range s.disks() {
		image := s.image(d)
		if _, err := os.Stat(image); err == nil {
			continue
		}
		for _, argv := range [][]string{
			{"truncate", "-s", strconv.FormatInt(int64(d.Size), 10), image},
			{"mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard", image},
		} {
			if err := run(argv...); err != nil {
				return fmt.Errorf("prepare disk %s of %s: %w", d.Name, s.Name, err)
			}
		}
	}
	return nil
}

// BootRole is the hidden subcommand that confines a kernel's process before it starts:
// lab-boot WORK -- COMMAND...
const BootRole = "lab-boot"

// BootMain runs the command in args with descriptors 0 to 3, in a mount namespace where
// everything but WORK is read-only, and returns its exit status. It does not exec the command:
// a kernel that panics sends itself SIGABRT, which the first process of a PID namespace would
// not receive.
func BootMain(args []string, stderr io.Writer) int {
	if err := boot(args); err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	return 0
}

func boot(args []string) error {
	if len(args) < 3 || args[1] != "--" {
		return fmt.Errorf("boot kernel: want WORK -- COMMAND, have %q", args)
	}
	// The thread that is confined has to be the one that starts the command.
	if err := kernel.Confine(args[0], filepath.Join(args[0], MemoryDir)); err != nil {
		return fmt.Errorf("boot kernel: %w", err)
	}
	cmd := kernel.Exec(context.Background(), args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	const cable = 3
	if f := os.NewFile(cable, "cable"); f != nil {
		if _, err := f.Stat(); err == nil {
			cmd.ExtraFiles = []*os.File{f}
		}
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run kernel: %w", err)
	}
	return nil
}
