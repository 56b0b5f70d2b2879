package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"linerate/internal/kernel"
	"linerate/internal/lab/fabric"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/guest"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/wire"
)

// Options say how a lab is run.
type Options struct {
	// Self starts this very program, so that it can be its own helpers; the
	// subcommands lab-holder, lab-enter, lab-fabric, lab-probe and the like are
	// appended.
	Self []string
	// StateDir is a private directory (see StateDir) for what must be found
	// again after a kill.
	StateDir string
	Log      func(string) // progress, one line each; nil: none
	Seed     uint64       // of random losses and the like
	Mode     fabric.Mode  // how links come about

	afterStep func(step string) error // for tests: fails a step
}

// Lab is a network of emulated hosts that is up. Its methods are for one
// goroutine at a time.
type Lab struct {
	id         string
	dir        string
	topo       topology.Topology
	opts       Options
	hosts      []*host
	fabric     *wire.Helper // nil where all links are direct
	fabricCPUs []int
	mode       fabric.Mode
	shapes     map[string][2]topology.Shape
	squeezed   fault.Undo // what frees the reader; nil: nothing holds it
	servers    []running
	groups     []kernel.Cgroup
	leftOut    []string
	down       bool
}

// Up builds the lab. When a step fails, or ctx ends, nothing is left of it.
func Up(ctx context.Context, t topology.Topology, o Options) (*Lab, error) {
	id, err := newID()
	if err != nil {
		return nil, fmt.Errorf("build lab: %w", err)
	}
	t = t.Clone()
	l := &Lab{id: id, dir: filepath.Join(o.StateDir, id), topo: t, opts: o, shapes: map[string][2]topology.Shape{}}
	for _, link := range t.Links {
		l.shapes[link.ID] = [2]topology.Shape{link.AB, link.BA}
	}
	for _, s := range l.steps() {
		if err := l.step(ctx, s); err != nil {
			return nil, errors.Join(fmt.Errorf("build lab: %s: %w", s.name, err), l.Down(context.WithoutCancel(ctx)))
		}
	}
	return l, nil
}

type step struct {
	name string
	run  func(context.Context) error
}

func (l *Lab) steps() []step {
	return []step{
		{"make directories", l.makeDirs},
		{"make cgroups", l.makeCgroups},
		{"start hosts", l.startHosts},
		{"join hosts", l.joinHosts},
		{"boot kernels", l.bootMachines},
		{"set addresses", l.setAddresses},
		{"start servers", l.startServers},
	}
}

func (l *Lab) step(ctx context.Context, s step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.opts.Log != nil {
		l.opts.Log(s.name)
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	if l.opts.afterStep != nil {
		return l.opts.afterStep(s.name)
	}
	return nil
}

// newID names a lab by its owner, so that the name shows whether that still runs:
// lab-PID-START-RANDOM.
func newID() (string, error) {
	start, err := kernel.ProcessStart("/proc", os.Getpid())
	if err != nil {
		return "", err
	}
	b := make([]byte, 4)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	return fmt.Sprintf("lab-%d-%d-%s", os.Getpid(), start, hex.EncodeToString(b)), nil
}

func (l *Lab) makeDirs(context.Context) error {
	if err := kernel.PrivateDir(l.opts.StateDir); err != nil {
		return err
	}
	cpus, err := kernel.Affinity()
	if err != nil {
		return err
	}
	if err := l.findKernels(); err != nil {
		return err
	}
	for i, h := range l.topo.Hosts {
		l.hosts = append(l.hosts, &host{spec: h, index: i})
		if err := os.MkdirAll(l.workDir(h.Name), 0o700); err != nil {
			return err
		}
	}
	l.place(cpus)
	return nil
}

func (l *Lab) env() []string { return []string{labEnv + "=" + l.id} }

func (l *Lab) self0() []string { return slices.Clone(l.opts.Self) }

func (l *Lab) self(sub string) []string { return append(l.self0(), sub) }

// note adds what could not be had, once.
func (l *Lab) note(lines ...string) {
	for _, s := range lines {
		if !slices.Contains(l.leftOut, s) {
			l.leftOut = append(l.leftOut, s)
		}
	}
}

// Enter is the start of an argv: a command appended to it runs inside host,
// with its standard streams as they are. It is nil for an unknown host.
func (l *Lab) Enter(name string) []string {
	h := l.host(name)
	if h == nil {
		return nil
	}
	if h.machine != nil {
		return append(l.self(guest.RunRole), h.machine.socket, "--")
	}
	p := place{pid: h.holder.PID(), start: h.start, host: name, lab: l.id, cpus: h.cpus, cgroups: h.groups}
	return append(l.self0(), p.argv()...)
}

// Addr is host's data address: of the interface that the topology's flow uses,
// else of its first. It is invalid for an unknown host.
func (l *Lab) Addr(name string) netip.Addr {
	h := l.host(name)
	if h == nil {
		return netip.Addr{}
	}
	f := l.topo.Flow
	if name == f.Receiver {
		i, _ := l.topo.Interface(name, f.Via)
		return i.Addr.Addr()
	}
	if i, ok := l.topo.SourceInterface(name, f.Receiver, f.Via); ok {
		return i.Addr.Addr()
	}
	return h.spec.Interfaces[0].Addr.Addr()
}

// StateDir is where host keeps its journal. It goes with the lab.
func (l *Lab) StateDir(name string) string {
	if h := l.host(name); h != nil && h.spec.Kind != topology.Namespace {
		return insideStateDir
	}
	return l.workDir(name)
}

// workDir is what the lab keeps for a host on this machine.
func (l *Lab) workDir(name string) string { return filepath.Join(l.dir, name) }

// LeftOut lists what this machine could not give, one line each.
func (l *Lab) LeftOut() []string { return slices.Clone(l.leftOut) }

// Topology is what was built.
func (l *Lab) Topology() topology.Topology { return l.topo }
