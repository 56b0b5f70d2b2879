package lab

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"linerate/internal/kernel"
)

// Options say how a lab is run.
type Options struct {
	// Self starts this very program, so that it can be its own helpers; the
	// subcommands lab-holder, lab-enter, lab-link and lab-burn are appended.
	Self []string
	// StateDir is a private directory (see StateDir) for what must be found
	// again after a kill.
	StateDir string
	Log      func(string) // progress, one line each; nil: none

	afterStep func(step string) error // for tests: fails a step
}

// Lab is two emulated hosts that are up. Its methods are for one goroutine.
type Lab struct {
	id      string
	dir     string
	topo    Topology
	opts    Options
	hosts   []*host
	link    *helper // nil for a direct link
	mode    LinkMode
	shapes  [2]Shape
	burner  *helper
	groups  []kernel.Cgroup
	leftOut []string
	down    bool
}

type host struct {
	name   string
	addr   netip.Prefix
	mac    net.HardwareAddr
	holder *helper
	start  uint64 // of the holder
	cpus   []int
	groups []kernel.Cgroup
}

// Up builds the lab. When a step fails, or ctx ends, nothing is left of it.
func Up(ctx context.Context, t Topology, o Options) (*Lab, error) {
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("build lab: %w", err)
	}
	id, err := newID()
	if err != nil {
		return nil, fmt.Errorf("build lab: %w", err)
	}
	l := &Lab{id: id, dir: filepath.Join(o.StateDir, id), topo: t, opts: o, shapes: [2]Shape{t.shape(), t.shape()}}
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
	join := step{"join hosts by link", l.joinByLink}
	if l.topo.Direct {
		join = step{"join hosts directly", l.joinDirectly}
	}
	return []step{
		{"make directories", l.makeDirs},
		{"make cgroups", l.makeCgroups},
		{"start hosts", l.startHosts},
		join,
		{"set addresses", l.setAddresses},
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

// newID names a lab so that its owner can be told from the name alone:
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
	for i, name := range l.topo.Hosts {
		l.hosts = append(l.hosts, &host{name: name, addr: hostAddr(i), mac: hostMAC(i), cpus: []int{cpus[i%len(cpus)]}})
		if err := os.MkdirAll(l.StateDir(name), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// linkCPUs keeps the link off the receiving host's core, which a fault may
// keep busy: a core of its own, or the sender's where there are but two.
func (l *Lab) linkCPUs() []int {
	cpus, err := kernel.Affinity()
	if err != nil || len(cpus) < 3 {
		return l.hosts[0].cpus
	}
	return cpus[2:]
}

const cgroupPrefix = "linerate-"

// makeCgroups gives each host a group in every hierarchy that has the cpuset
// or cpu controller. Where that is not permitted, CPU affinity alone binds it.
func (l *Lab) makeCgroups(context.Context) error {
	trees, err := kernel.CgroupHierarchies("/")
	if err != nil {
		l.leftOut = append(l.leftOut, "cgroup per host: "+err.Error()+"; CPU affinity only")
		return nil
	}
	made := false
	for _, tree := range trees {
		if !slices.Contains(tree.Controllers, "cpuset") && !slices.Contains(tree.Controllers, "cpu") {
			continue
		}
		for _, h := range l.hosts {
			g, err := kernel.MakeCgroup(tree, cgroupPrefix+l.id+"-"+h.name, h.cpus)
			if errors.Is(err, fs.ErrPermission) {
				l.leftOut = append(l.leftOut, "cgroup per host: not permitted; CPU affinity only")
				return nil
			}
			if err != nil {
				l.leftOut = append(l.leftOut, "cgroup per host: "+err.Error()+"; CPU affinity only")
				return nil
			}
			made = true
			l.groups, h.groups = append(l.groups, g), append(h.groups, g)
		}
	}
	if !made {
		l.leftOut = append(l.leftOut, "cgroup per host: no cpuset or cpu controller to be had; CPU affinity only")
	}
	return nil
}

func (l *Lab) env() []string { return []string{labEnv + "=" + l.id} }

func (l *Lab) self(sub string) []string { return append(slices.Clone(l.opts.Self), sub) }

func (l *Lab) startHosts(ctx context.Context) error {
	for _, h := range l.hosts {
		all := kernel.Namespaces{Net: true, Mount: true, UTS: true}
		holder, err := startHelper("host "+h.name, l.self("lab-holder"), l.env(), all)
		if err != nil {
			return err
		}
		h.holder = holder
		if h.start, err = kernel.ProcessStart("/proc", holder.pid()); err != nil {
			return err
		}
		var out leftOut
		if err := holder.call(ctx, "setup", setupArgs{h.name, hostSysctls()}, &out); err != nil {
			return err
		}
		l.note(out)
	}
	return nil
}

// note adds what a helper left out, once.
func (l *Lab) note(out leftOut) {
	for _, s := range out.LeftOut {
		if !slices.Contains(l.leftOut, s) {
			l.leftOut = append(l.leftOut, s)
		}
	}
}

func (l *Lab) joinByLink(ctx context.Context) error {
	link, err := startHelper("link", l.self("lab-link"), l.env(), kernel.Namespaces{Net: true})
	if err != nil {
		return err
	}
	l.link = link
	args := openArgs{Mode: l.topo.Mode, Shapes: l.shapes, CPUs: l.linkCPUs(), Seed: l.topo.Seed}
	for i, h := range l.hosts {
		args.Ports[i] = kernel.Veth{Name: fmt.Sprintf("sw%d", i), Peer: hostInterface, PeerPID: h.holder.pid(), PeerMAC: h.mac}
	}
	var res openResult
	if err := link.call(ctx, "open", args, &res); err != nil {
		return err
	}
	l.mode = res.Mode
	l.note(res.leftOut)
	return nil
}

// Sizes of a direct link's shaper: a queue of a few milliseconds at its rate.
const directQueue = 8_000_000

func (l *Lab) joinDirectly(ctx context.Context) error {
	a, b := l.hosts[0], l.hosts[1]
	pair := kernel.Veth{Name: hostInterface, Peer: hostInterface, PeerPID: b.holder.pid(), MTU: l.topo.MTU, MAC: a.mac, PeerMAC: b.mac}
	if err := a.holder.call(ctx, "veth", pair, nil); err != nil {
		return err
	}
	tbf := kernel.TokenBucket{Dev: hostInterface, Rate: tbfRate(l.topo.Rate, l.topo.MTU), Burst: tbfBurst(l.topo.Rate), Limit: directQueue}
	for _, h := range l.hosts {
		if err := h.holder.call(ctx, "shape", tbf, nil); err != nil {
			l.note(leftOut{[]string{fmt.Sprintf("rate of the link: %v; it is as fast as the CPU allows", err)}})
			return nil
		}
	}
	return nil
}

func (l *Lab) setAddresses(ctx context.Context) error {
	for i, h := range l.hosts {
		peer := l.hosts[1-i]
		want := kernel.Interface{Name: hostInterface, MTU: l.topo.MTU, Addr: h.addr, Up: true,
			Neighbours: map[netip.Addr]net.HardwareAddr{peer.addr.Addr(): peer.mac}}
		quiet := sysctlArgs{"net.ipv6.conf." + hostInterface + ".disable_ipv6", "1"}
		// Without IPv6 in the kernel there is no such key, nor any noise.
		_ = h.holder.call(ctx, "sysctl", quiet, nil)
		if err := h.holder.call(ctx, "interface", want, nil); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lab) host(name string) *host {
	for _, h := range l.hosts {
		if h.name == name {
			return h
		}
	}
	return nil
}

// Enter is the start of an argv: a command appended to it runs inside host,
// with its standard streams as they are. It is nil for an unknown host.
func (l *Lab) Enter(name string) []string {
	h := l.host(name)
	if h == nil {
		return nil
	}
	p := place{pid: h.holder.pid(), start: h.start, host: name, lab: l.id, cpus: h.cpus, cgroups: h.groups}
	return append(slices.Clone(l.opts.Self), p.argv()...)
}

// Addr is host's data address, invalid for an unknown host.
func (l *Lab) Addr(name string) netip.Addr {
	if h := l.host(name); h != nil {
		return h.addr.Addr()
	}
	return netip.Addr{}
}

// StateDir is where host keeps its journal. It goes with the lab.
func (l *Lab) StateDir(name string) string { return filepath.Join(l.dir, name) }

// LeftOut lists what this machine could not give, one line each.
func (l *Lab) LeftOut() []string { return slices.Clone(l.leftOut) }

// Topology is what was built.
func (l *Lab) Topology() Topology { return l.topo }

// LinkStats asks the link what it has done; ok is false for a direct link,
// which counts nothing of its own.
func (l *Lab) LinkStats(ctx context.Context) (st LinkStats, ok bool, err error) {
	if l.link == nil {
		return st, false, nil
	}
	err = l.link.call(ctx, "stats", struct{}{}, &st)
	return st, true, err
}
