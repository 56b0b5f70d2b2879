package lab

import (
	"context"

	"linerate/internal/lab/topology"
)

func (k *keeper) status(ctx context.Context) (Status, error) {
	l, t := k.lab, k.lab.Topology()
	s := Status{Name: k.order.Name, ID: l.id, Topology: t.Name, Title: t.Title, FullRate: t.FullRate, Since: k.since,
		Servers: []ServerStatus{}, Faults: append([]Injected{}, k.faults...), LeftOut: append([]string{}, l.LeftOut()...)}
	for _, h := range l.hosts {
		hs := HostStatus{Name: h.spec.Name, Kind: h.spec.Kind, PID: h.pid(), CPUs: h.cpus, Data: l.Addr(h.spec.Name).String(), StateDir: l.StateDir(h.spec.Name)}
		if h.spec.Kind == topology.Device {
			hs.Program = l.Program(h.spec.Name)
		}
		for _, i := range h.spec.Interfaces {
			hs.Ports = append(hs.Ports, PortStatus{i.Name, i.Addr.String(), i.MTU})
		}
		s.Hosts = append(s.Hosts, hs)
	}
	s.Servers = append(s.Servers, l.Servers()...)
	st, _, err := l.LinkStats(ctx)
	if err != nil {
		return s, err
	}
	for _, link := range t.Links {
		s.Links = append(s.Links, LinkStatus{ID: link.ID, A: link.A.String(), B: link.B.String(), Direct: link.Direct, Shapes: l.Shapes(link.ID), Counts: st.Links[link.ID]})
	}
	s.Warnings = st.Warnings()
	s.Flow = FlowStatus{From: t.Flow.Senders, To: t.Flow.Receiver}
	rate, rtt, mtu := t.Ceiling(t.Flow.Senders[0], t.Flow.Receiver, t.Flow.Via)
	s.Flow.Rate, s.Flow.RTT, s.Flow.MTU = float64(rate), rtt, mtu
	return s, nil
}
