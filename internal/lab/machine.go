package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/kernel"
	"linerate/internal/lab/guest"
	"linerate/internal/lab/qemu"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/uml"
	"linerate/internal/lab/wire"
	"linerate/internal/unit"
)

// machine is what a host with a kernel of its own runs on.
type machine struct {
	keeper *wire.Helper // keeps the kernel running
	socket string       // for commands inside
	boot   guest.Boot
}

const (
	// machineMemory is for a host whose file states none.
	machineMemory = 512 * unit.MiB
	deviceMemory  = 768 * unit.MiB
	// bootWithin bounds the boot of a kernel: many times what it takes, since
	// an emulated machine on busy cores takes many times as long.
	bootWithin = 3 * time.Minute
	// insideStateDir is where a host with a kernel of its own keeps its
	// journal: on its disk, which outlives a reboot.
	insideStateDir = "/var/lib/linerate"
)

// findKernels says what is missing before anything is made.
func (l *Lab) findKernels() error {
	for _, h := range l.topo.Hosts {
		switch h.Kind {
		case topology.Namespace:
		case topology.Kernel:
			if _, err := uml.Find("/"); err != nil {
				return fmt.Errorf("host %s: %w", h.Name, err)
			}
		case topology.Device:
			if _, err := qemu.Find(); err != nil {
				return fmt.Errorf("host %s: %w", h.Name, err)
			}
			if len(h.Servers)+len(h.Disks) > 0 {
				return fmt.Errorf("host %s: a device host is to look at and to tune: it has no servers or disks", h.Name)
			}
		}
	}
	return nil
}

// bootMachines boots the hosts that have a kernel of their own, all at once:
// their cables lie ready.
func (l *Lab) bootMachines(ctx context.Context) error {
	g, booting := errgroup.WithContext(ctx)
	for _, h := range l.hosts {
		if h.spec.Kind == topology.Namespace {
			continue
		}
		if err := l.prepareMachine(ctx, h); err != nil {
			return err
		}
		g.Go(func() error { return h.machine.keeper.Call(booting, guest.OpBoot, h.machine.boot, nil) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, h := range l.hosts {
		if h.machine == nil {
			continue
		}
		if err := l.startInside(ctx, h); err != nil {
			return err
		}
	}
	return nil
}

// prepareMachine starts the keeper of h's kernel and makes what it boots from.
func (l *Lab) prepareMachine(ctx context.Context, h *host) error {
	work := filepath.Join(l.workDir(h.spec.Name), "kernel")
	if err := os.MkdirAll(filepath.Join(work, uml.MemoryDir), 0o700); err != nil {
		return err
	}
	command, boot, err := l.kernelCommand(ctx, h, work)
	if err != nil {
		return err
	}
	start, err := kernel.ProcessStart("/proc", l.fabric.PID())
	if err != nil {
		return err
	}
	// The kernel's process is in the links' network namespace, where its taps
	// are, and on the host's core.
	at := place{pid: l.fabric.PID(), start: start, host: h.spec.Name, lab: l.id, cpus: h.cpus, cgroups: h.groups}
	boot.Argv = slices.Concat(l.self0(), at.argv(), l.self(uml.BootRole), []string{work, "--"}, command)
	dir := l.workDir(h.spec.Name)
	boot.Name, boot.Socket, boot.Log, boot.Within = h.spec.Name, filepath.Join(dir, "in"), filepath.Join(dir, "console.log"), bootWithin
	m := &machine{socket: boot.Socket, boot: boot}
	if m.keeper, err = wire.Start("kernel of "+h.spec.Name, l.self(guest.KeepRole), l.env(), kernel.Namespaces{}); err != nil {
		return err
	}
	h.machine = m
	return nil
}

// kernelCommand makes what h boots from, below work, and says how it boots.
func (l *Lab) kernelCommand(ctx context.Context, h *host, work string) ([]string, guest.Boot, error) {
	if h.spec.Kind == topology.Device {
		spec, err := l.deviceSpec(h, work)
		if err != nil {
			return nil, guest.Boot{}, err
		}
		argv, err := qemu.Prepare(ctx, spec)
		return argv, guest.Boot{Cable: work, Console: filepath.Join(work, qemu.ConsoleLog)}, err
	}
	spec, err := l.machineSpec(h, work)
	if err != nil {
		return nil, guest.Boot{}, err
	}
	run := func(argv ...string) error {
		program, err := kernel.FindProgram(argv[0], adminPath())
		if err != nil {
			return fmt.Errorf("%w; apt-get install --no-install-recommends e2fsprogs", err)
		}
		cmd := kernel.Exec(ctx, append([]string{program}, argv[1:]...)...)
		cmd.Env = wire.WithEnv(os.Environ(), l.env()...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, out)
		}
		return nil
	}
	return uml.Command(spec), guest.Boot{Env: uml.Env(spec)}, uml.Prepare(spec, run)
}

// deviceSpec is the machine that a device host is.
func (l *Lab) deviceSpec(h *host, work string) (qemu.Spec, error) {
	k, err := qemu.Find()
	if err != nil {
		return qemu.Spec{}, err
	}
	program, err := filepath.EvalSymlinks(l.opts.Self[0])
	if err != nil {
		return qemu.Spec{}, fmt.Errorf("find this program: %w", err)
	}
	s := qemu.Spec{Name: h.spec.Name, Memory: max(h.spec.Memory, deviceMemory), Kernel: k, Init: program, Work: work}
	p := guest.Params{Line: guest.VirtioLine}
	for _, i := range h.spec.Interfaces {
		mac, card := h.mac(i.Name), i.Card
		s.NICs = append(s.NICs, qemu.NIC{Model: cmp.Or(card.Model, qemu.E1000E), MAC: mac, Tap: l.portDev(topology.End{Node: h.spec.Name, Interface: i.Name}),
			Node: card.Node, PortSpeed: card.PortSpeed, PortWidth: card.PortWidth})
		p.Ports = append(p.Ports, guest.Port{MAC: mac.String(), Name: i.Name})
	}
	words := p.CommandLine()
	s.InitArgs = append([]string{guest.InitRole}, words[:len(words)-1]...)
	return s, nil
}

func (l *Lab) machineSpec(h *host, work string) (uml.Spec, error) {
	k, err := uml.Find("/")
	if err != nil {
		return uml.Spec{}, err
	}
	program, err := filepath.EvalSymlinks(l.opts.Self[0])
	if err != nil {
		return uml.Spec{}, fmt.Errorf("find this program: %w", err)
	}
	s := uml.Spec{Kernel: k, Name: h.spec.Name, Work: work, Init: program,
		Memory: h.spec.Memory, Keep: l.dir}
	for _, d := range disksOf(h.spec) {
		s.Disks = append(s.Disks, uml.Disk{Name: d.Name, Size: d.Size})
	}
	if s.Memory == 0 {
		s.Memory = machineMemory
	}
	for _, i := range h.spec.Interfaces {
		end := topology.End{Node: h.spec.Name, Interface: i.Name}
		s.Ports = append(s.Ports, uml.Port{Name: i.Name, Tap: l.portDev(end), MAC: h.mac(i.Name).String(), MTU: i.MTU})
	}
	return s, nil
}

// startInside starts what serves a host's requests, inside its kernel.
func (l *Lab) startInside(ctx context.Context, h *host) error {
	argv := slices.Concat(l.Enter(h.spec.Name), l.Program(h.spec.Name), []string{"lab-holder"})
	holder, err := wire.Start("host "+h.spec.Name, argv, l.env(), kernel.Namespaces{})
	if err != nil {
		return err
	}
	h.holder = holder
	return l.setUp(ctx, h)
}

// Program is how this very program is started inside a host: a device host has
// a copy, since it does not see all of this machine's directories.
func (l *Lab) Program(name string) []string {
	if h := l.host(name); h != nil && h.spec.Kind == topology.Device {
		return []string{qemu.InitPath}
	}
	return l.self0()
}

// Reboot boots a host with a kernel of its own again: what was set in it and
// not written to a file is gone.
func (l *Lab) Reboot(ctx context.Context, name string) error {
	h, err := l.find(name)
	if err != nil {
		return err
	}
	if h.machine == nil {
		return fmt.Errorf("reboot %s: it shares this machine's kernel; bring it up with --kernel %s", name, name)
	}
	errs := []error{h.holder.Stop(), h.machine.keeper.Call(ctx, guest.OpHalt, struct{}{}, nil)}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("reboot %s: %w", name, err)
	}
	if err := h.machine.keeper.Call(ctx, guest.OpBoot, h.machine.boot, nil); err != nil {
		return fmt.Errorf("reboot %s: %w", name, err)
	}
	if err := l.startInside(ctx, h); err != nil {
		return fmt.Errorf("reboot %s: %w", name, err)
	}
	if err := l.addressHost(ctx, h); err != nil {
		return err
	}
	l.servers = slices.DeleteFunc(l.servers, func(s running) bool { return s.host == name })
	return l.startServersOf(ctx, h)
}

// pid is of the process that a host lives and dies with.
func (h *host) pid() int {
	if h.machine != nil {
		return h.machine.keeper.PID()
	}
	return h.holder.PID()
}
