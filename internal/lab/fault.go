package lab

import (
	"context"
	"fmt"
	"strings"

	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Fault is one thing that can be wrong in a lab.
type Fault struct {
	ID      string
	Doc     string // one line for --help
	Limiter model.LimiterID
	FixKind model.FixKind
	// SourceRate is what the sending application produces; 0 is as fast as
	// it can. The workload applies it: the lab has no part in it.
	SourceRate unit.BitRate

	topology func(*topology.Topology) // what the fault needs to show; nil: nothing
	inject   func(context.Context, *Lab) error
	cure     func(context.Context, *Lab) error
}

// Topology is t, which has two hosts and one link, as the fault needs it.
func (f Fault) Topology(t topology.Topology) topology.Topology {
	t = t.Clone()
	if f.topology != nil {
		f.topology(&t)
	}
	return t
}

// Sizes of the faults. Each costs at least a third of the goodput of the
// default topology (or of its own), so that none can be taken for noise.
const (
	// A buffer of 256 KiB holds some 130-170 KiB of payload: 0.1-0.2 Gbit/s
	// at 10 ms, where 1 Gbit/s needs 1.25 MB under way.
	tightRmem = "4096 131072 262144"
	tightWmem = "4096 16384 262144"
	// A loss rate p holds one cubic stream to about 1.2 MSS / (RTT √p)
	// (Mathis et al. 1997): 45 Mbit/s of 1 Gbit/s.
	lossShare    = 0.001
	slowRate     = 300 * unit.Mbit
	blackholeMTU = 1500
	// Packets of 1500 bytes one by one cost a core at 6-7 Gbit/s here. The
	// link is three times that, so that the cost of packets binds and not
	// the link, on a machine twice as fast too, and any gain is real.
	directRate = 20 * unit.Gbit
)

// Faults lists every fault, in the order of the documentation.
func Faults() []Fault {
	return []Fault{
		{ID: "window", Doc: "receive buffer too small for the delay", Limiter: model.ReceiverWindow, FixKind: model.FixSetting,
			inject: sysctlStep(1, "net.ipv4.tcp_rmem", tightRmem), cure: sysctlStep(1, "net.ipv4.tcp_rmem", defaultRmem)},
		{ID: "sendbuf", Doc: "send buffer too small for the delay", Limiter: model.SendBuffer, FixKind: model.FixSetting,
			inject: sysctlStep(0, "net.ipv4.tcp_wmem", tightWmem), cure: sysctlStep(0, "net.ipv4.tcp_wmem", defaultWmem)},
		{ID: "offload", Doc: "segmentation offloads off at MTU 1500, so that every packet costs CPU", Limiter: model.PacketCost, FixKind: model.FixSetting,
			topology: func(t *topology.Topology) {
				s := topology.Shape{Rate: directRate}
				t.Links[0].Direct, t.Links[0].AB, t.Links[0].BA = true, s, s
			},
			inject: func(ctx context.Context, l *Lab) error { return l.offloads(ctx, false) },
			cure:   func(ctx context.Context, l *Lab) error { return l.offloads(ctx, true) }},
		{ID: "mtu", Doc: "hosts send 9000-byte packets into a path that swallows what is over 1500", Limiter: model.MTUBlackhole, FixKind: model.FixOperator,
			topology: func(t *topology.Topology) {
				for _, h := range t.Hosts {
					h.Interfaces[0].MTU = 9000
				}
			},
			inject: shapeStep(func(s *topology.Shape) { s.MTU = blackholeMTU }), cure: healthyShape},
		{ID: "loss", Doc: "the path loses one segment in a thousand", Limiter: model.PathLoss, FixKind: model.FixOperator,
			inject: func(ctx context.Context, l *Lab) error {
				return l.Reshape(ctx, l.topo.Links[0].ID, 0, func(s *topology.Shape) { s.Loss = lossShare })
			}, cure: healthyShape},
		{ID: "slow-link", Doc: "the path carries 300 Mbit/s where 1 Gbit/s was promised", Limiter: model.LinkRate, FixKind: model.FixOperator,
			inject: shapeStep(func(s *topology.Shape) { s.Rate = slowRate }), cure: healthyShape},
		{ID: "app", Doc: "the sending application produces 300 Mbit/s", Limiter: model.ApplicationSource, FixKind: model.FixOperator,
			SourceRate: 300 * unit.Mbit, inject: nothing, cure: nothing},
		{ID: "cpu", Doc: "other work takes the CPU from the receiving application", Limiter: model.ReceiverCPU, FixKind: model.FixOperator,
			inject: squeezeReader, cure: freeReader},
		{ID: "none", Doc: "nothing is wrong", Limiter: model.None, FixKind: model.FixNone, inject: nothing, cure: nothing},
	}
}

// FindFault returns the fault with this id; the error lists those there are.
func FindFault(id string) (Fault, error) {
	var ids []string
	for _, f := range Faults() {
		if f.ID == id {
			return f, nil
		}
		ids = append(ids, f.ID)
	}
	return Fault{}, fmt.Errorf("unknown fault %q; choose one of %s", id, strings.Join(ids, ", "))
}

// Inject puts a fault in place.
func (l *Lab) Inject(ctx context.Context, f Fault) error {
	if l.down {
		return fmt.Errorf("inject fault %s: the lab is down", f.ID)
	}
	if err := f.inject(ctx, l); err != nil {
		return fmt.Errorf("inject fault %s: %w", f.ID, err)
	}
	return nil
}

// Cure takes a fault away: the lab plays the operator (or, for a fault that a
// setting cures, the undo). Curing what was never injected changes nothing.
func (l *Lab) Cure(ctx context.Context, f Fault) error {
	if l.down {
		return fmt.Errorf("cure fault %s: the lab is down", f.ID)
	}
	if err := f.cure(ctx, l); err != nil {
		return fmt.Errorf("cure fault %s: %w", f.ID, err)
	}
	return nil
}

// squeezeReader starves the receiving application as the catalogue does.
func squeezeReader(ctx context.Context, l *Lab) error {
	if l.squeezed != nil {
		return nil
	}
	undo, err := fault.Injection{Fault: "receiver-cpu", Severity: "medium"}.Inject(ctx, l)
	l.squeezed = undo
	return err
}

func freeReader(ctx context.Context, l *Lab) error {
	if l.squeezed == nil {
		return nil
	}
	undo := l.squeezed
	l.squeezed = nil
	return undo(ctx)
}

func nothing(context.Context, *Lab) error { return nil }

func sysctlStep(host int, key, value string) func(context.Context, *Lab) error {
	return func(ctx context.Context, l *Lab) error {
		return l.hosts[host].holder.Call(ctx, "sysctl", sysctlArgs{key, value}, nil)
	}
}

func shapeStep(change func(*topology.Shape)) func(context.Context, *Lab) error {
	return func(ctx context.Context, l *Lab) error {
		for dir := range 2 {
			if err := l.Reshape(ctx, l.topo.Links[0].ID, dir, change); err != nil {
				return err
			}
		}
		return nil
	}
}

func healthyShape(ctx context.Context, l *Lab) error {
	link := l.topo.Links[0]
	for dir, s := range []topology.Shape{link.AB, link.BA} {
		if err := l.Reshape(ctx, link.ID, dir, func(to *topology.Shape) { *to = s }); err != nil {
			return err
		}
	}
	return nil
}
