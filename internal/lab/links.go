package lab

import (
	"context"
	"fmt"
	"slices"

	"linerate/internal/kernel"
	"linerate/internal/lab/fabric"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/wire"
)

// joinHosts starts the fabric with all links but the direct ones, and makes
// those.
func (l *Lab) joinHosts(ctx context.Context) error {
	for _, link := range l.topo.Links {
		if !link.Direct {
			continue
		}
		if err := l.joinDirectly(ctx, link); err != nil {
			return err
		}
	}
	c := l.wiring()
	if len(c.Links) == 0 {
		return nil
	}
	// All three, as a host has them: kernels are started where the links are.
	f, err := wire.Start("links", l.self("lab-fabric"), l.env(), kernel.Namespaces{Net: true, Mount: true, UTS: true})
	if err != nil {
		return err
	}
	l.fabric = f
	var opened fabric.Opened
	if err := f.Call(ctx, fabric.OpOpen, c, &opened); err != nil {
		return err
	}
	l.mode = opened.Mode
	l.note(opened.LeftOut...)
	return nil
}

func (l *Lab) wiring() fabric.Config {
	c := fabric.Config{CPUs: l.fabricCPUs, Seed: l.opts.Seed, Mode: l.opts.Mode}
	for _, s := range l.topo.Switches {
		c.Switches = append(c.Switches, fabric.Switch{Name: s.Name, MTU: s.MTU})
	}
	for _, link := range l.topo.Links {
		if link.Direct {
			continue
		}
		c.Links = append(c.Links, fabric.Link{ID: link.ID, A: link.A.String(), B: link.B.String(), Shapes: l.shapes[link.ID]})
		for _, e := range []topology.End{link.A, link.B} {
			h := l.host(e.Node)
			if h == nil {
				continue
			}
			port := fabric.Port{Name: e.String(), Dev: l.portDev(e), Tap: h.spec.Kind != topology.Namespace}
			if !port.Tap {
				port.Veth = &kernel.Veth{Peer: e.Interface, PeerPID: h.holder.PID(), PeerMAC: h.mac(e.Interface)}
			}
			c.Ports = append(c.Ports, port)
		}
	}
	return c
}

// portDev is what the fabric calls its end of an interface's cable.
func (l *Lab) portDev(e topology.End) string {
	h := l.host(e.Node)
	at := slices.IndexFunc(h.spec.Interfaces, func(i topology.Interface) bool { return i.Name == e.Interface })
	return fmt.Sprintf("port%d-%d", h.index, at)
}

// Size of a direct link's queue: what it carries in some milliseconds at its rate.
const directQueue = 8_000_000

func (l *Lab) joinDirectly(ctx context.Context, link topology.Link) error {
	a, b := l.host(link.A.Node), l.host(link.B.Node)
	from, _ := l.topo.Interface(link.A.Node, link.A.Interface)
	pair := kernel.Veth{Name: link.A.Interface, Peer: link.B.Interface, PeerPID: b.holder.PID(), MTU: from.MTU, MAC: a.mac(link.A.Interface), PeerMAC: b.mac(link.B.Interface)}
	if err := a.holder.Call(ctx, "veth", pair, nil); err != nil {
		return err
	}
	for h, dev := range map[*host]string{a: link.A.Interface, b: link.B.Interface} {
		tbf := kernel.TokenBucket{Dev: dev, Rate: fabric.TokenRate(link.AB.Rate, from.MTU), Burst: fabric.TokenBurst(link.AB.Rate), Limit: directQueue}
		if err := h.holder.Call(ctx, "shape", tbf, nil); err != nil {
			l.note(fmt.Sprintf("rate of the link: %v; it is as fast as the CPU allows", err))
			return nil
		}
	}
	return nil
}

// Shapes of a link as they are now; index 0 leads from its end A to B. They
// are zero for a link that is not there.
func (l *Lab) Shapes(link string) [2]topology.Shape { return l.shapes[link] }

// Reshape changes one direction of a link (0: from A to B) while traffic flows.
func (l *Lab) Reshape(ctx context.Context, link string, dir int, change func(*topology.Shape)) error {
	t, ok := l.topo.Link(link)
	switch {
	case !ok:
		return fmt.Errorf("there is no link %q in this lab", link)
	case t.Direct:
		return fmt.Errorf("link %s is direct: it has nothing to change", link)
	case dir < 0 || dir > 1:
		return fmt.Errorf("link %s: there is no direction %d", link, dir)
	}
	pair := l.shapes[link]
	change(&pair[dir])
	if l.mode == fabric.ModeNetem {
		if err := l.offloadsFor(ctx, pair[dir]); err != nil {
			return err
		}
	}
	if err := l.fabric.Call(ctx, fabric.OpReshape, fabric.Reshape{Link: link, Direction: dir, Shape: pair[dir]}, nil); err != nil {
		return err
	}
	l.shapes[link] = pair
	return nil
}

// offloadsFor keeps super-packets from a netem that would lose them whole.
func (l *Lab) offloadsFor(ctx context.Context, s topology.Shape) error {
	whole := s.Loss == 0
	for _, h := range l.hosts {
		for _, i := range h.spec.Interfaces {
			if s.MTU > 0 && s.MTU < i.MTU {
				whole = false
			}
		}
	}
	return l.offloads(ctx, whole)
}

// offloads switches segmentation and receive offload of all interfaces.
func (l *Lab) offloads(ctx context.Context, on bool) error {
	want := map[string]bool{"tx-tcp-segmentation": on, "tx-generic-segmentation": on, "rx-gro": on}
	for _, h := range l.hosts {
		for _, i := range h.spec.Interfaces {
			if err := h.holder.Call(ctx, "features", featureArgs{i.Name, want}, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// SwitchMTU sets the largest packet that a switch forwards, in bytes; 0 is
// any. It returns what it was.
func (l *Lab) SwitchMTU(ctx context.Context, name string, mtu int) (old int, err error) {
	for i, s := range l.topo.Switches {
		if s.Name != name {
			continue
		}
		if err := l.fabric.Call(ctx, fabric.OpSwitchMTU, fabric.SwitchMTU{Switch: name, MTU: mtu}, nil); err != nil {
			return s.MTU, err
		}
		l.topo.Switches[i].MTU = mtu
		return s.MTU, nil
	}
	return 0, fmt.Errorf("there is no switch %q in this lab", name)
}

// LinkStats reads the counters of the links; ok is false where all are
// direct, which count nothing of their own.
func (l *Lab) LinkStats(ctx context.Context) (st fabric.Stats, ok bool, err error) {
	if l.fabric == nil {
		return st, false, nil
	}
	err = l.fabric.Call(ctx, fabric.OpStats, struct{}{}, &st)
	return st, true, err
}
