package lab

import (
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
	// bootWithin bounds the boot of a kernel: many times what it takes.
	bootWithin = 60 * time.Second
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
		default:
			return fmt.Errorf("host %s: a %s host cannot be built here", h.Name, h.Kind)
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
	spec, err := l.machineSpec(h)
	if err != nil {
		return err
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
	if err := uml.Prepare(spec, run); err != nil {
		return err
	}
	start, err := kernel.ProcessStart("/proc", l.fabric.PID())
	if err != nil {
		return err
	}
	// The kernel's process is in the links' network namespace, where its taps
	// are, and on the host's core.
	at := place{pid: l.fabric.PID(), start: start, host: h.spec.Name, lab: l.id, cpus: h.cpus, cgroups: h.groups}
	argv := append(l.self0(), at.argv()...)
	argv = append(append(argv, l.self(uml.BootRole)...), spec.Work, "--")
	argv = append(argv, uml.Command(spec)...)
	dir := l.workDir(h.spec.Name)
	m := &machine{socket: filepath.Join(dir, "in"), boot: guest.Boot{Name: h.spec.Name, Argv: argv, Env: uml.Env(spec),
		Socket: filepath.Join(dir, "in"), Log: filepath.Join(dir, "console.log"), Within: bootWithin}}
	if m.keeper, err = wire.Start("kernel of "+h.spec.Name, l.self(guest.KeepRole), l.env(), kernel.Namespaces{}); err != nil {
		return err
	}
	h.machine = m
	return nil
}

func (l *Lab) machineSpec(h *host) (uml.Spec, error) {
	k, err := uml.Find("/")
	if err != nil {
		return uml.Spec{}, err
	}
	program, err := filepath.EvalSymlinks(l.opts.Self[0])
	if err != nil {
		return uml.Spec{}, fmt.Errorf("find this program: %w", err)
	}
	s := uml.Spec{Kernel: k, Name: h.spec.Name, Work: filepath.Join(l.workDir(h.spec.Name), "kernel"), Init: program,
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
	holder, err := wire.Start("host "+h.spec.Name, append(l.Enter(h.spec.Name), l.self("lab-holder")...), l.env(), kernel.Namespaces{})
	if err != nil {
		return err
	}
	h.holder = holder
	return l.setUp(ctx, h)
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
