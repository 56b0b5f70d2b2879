package facts

import (
	"cmp"
	"context"
	"slices"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// readNICs reads every interface of the network namespace. If addresses or queueing disciplines
// cannot be listed, their fields stay empty.
func readNICs(ctx context.Context, src kernel.Source, f *model.Facts) error {
	links, err := src.Links(ctx)
	if err != nil {
		return err
	}
	slices.SortFunc(links, func(a, b kernel.Link) int { return cmp.Compare(a.Index, b.Index) })
	addrs, err := src.Addrs(ctx)
	if err != nil {
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "interface addresses", WouldShow: "which interface owns which data address", How: remedy(err)})
	}
	qdiscs, err := src.Qdiscs(ctx)
	if err != nil {
		f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: "queueing disciplines", WouldShow: "whether this host shapes what it sends", How: remedy(err)})
	}
	ports := map[string]kernel.Port{}
	for _, l := range links {
		ports[l.Name] = src.Port(l.Name)
	}
	ids, names := kernel.DeviceIDs(links, ports), map[int]string{0: ""}
	for _, l := range links {
		names[l.Index] = l.Name
	}
	for _, l := range links {
		p := ports[l.Name]
		n := model.NIC{
			Name: l.Name, Device: ids[l.Name], Driver: p.Driver, Speed: speedOf(l, p), Duplex: p.Duplex,
			MTU: l.MTU, Up: l.Up, Addrs: addrs[l.Index], Qdisc: qdiscs[l.Index].Kind, Features: p.Features,
		}
		n.PCI, n.NUMA = readSlot(src, kernel.PCIAddress(l, p))
		n.Master = names[l.Master]
		fillDetail(src, &n, l, p, qdiscs[l.Index].Drops)
		f.NICs = append(f.NICs, n)
	}
	lacpBlind(f)
	payloadBlind(f)
	return nil
}

// constantSpeed are the drivers and link kinds whose reported speed is a constant in their source
// (drivers/net/veth.c, tun.c, net/bridge, vmxnet3_ethtool.c …) and limits nothing.
func constantSpeed(name string) bool {
	return slices.Contains([]string{"veth", "tun", "tap", "bridge", "dummy", "ifb", "vmxnet3", "openvswitch", "vxlan", "wireguard"}, name)
}

func speedOf(l kernel.Link, p kernel.Port) model.Fact[unit.BitRate] {
	for _, name := range []string{l.Kind, p.Driver.Value} {
		if constantSpeed(name) {
			return model.Unknown[unit.BitRate](model.Unsupported, name+" interfaces have no speed of their own")
		}
	}
	mbps, ok := p.Mbps.Get()
	if !ok {
		return model.Unknown[unit.BitRate](p.Mbps.State, p.Mbps.Why)
	}
	return model.Known(unit.BitRate(mbps) * unit.Mbit)
}
