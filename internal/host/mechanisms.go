package host

import (
	"context"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// Setters lists the mechanisms by which linerate changes the host that it runs on; src reads
// that host.
func Setters(src kernel.Source) []setter.Setter {
	find := func(device string) (string, error) {
		return kernel.FindDevice(context.Background(), src, device)
	}
	root := kernel.Root("/")
	return []setter.Setter{
		setter.Sysctl{Root: root},
		setter.Link{Links: links{}, Interface: find},
		setter.Features{Offloads: offloads{}, Interface: find},
		setter.Ethtool{Driver: driver{}, RSS: tables{}, Interface: find},
		setter.RSS{Tables: tables{}, Interface: find},
		setter.Queue{Disciplines: disciplines{}, Interface: find},
		setter.Dirty{Tree: root},
		setter.Interrupts(root, find),
		setter.Queues(root, find),
		setter.CPU(root),
		setter.NewBlock(root),
		setter.Route{Routes: routes{}},
		setter.NFSReadAhead(root),
		setter.NFSD(root),
		setter.Module{Tree: root},
		setter.ZFS{Run: kernel.Run},
		setter.ISCSI{Run: kernel.Run},
		setter.Samba{Tree: root, Run: kernel.Run},
		setter.Mount{Tree: root},
		setter.Remount{Tree: root, Remount: kernel.Remount},
		setter.Service{Tree: root, Run: kernel.Run},
	}
}

// offloads is the kernel's ethtool for the setter.
type offloads struct{}

// Get implements setter.Offloads.
func (offloads) Get(ifname string) (map[string]bool, error) { return kernel.ReadFeatures(ifname) }

// Set implements setter.Offloads.
func (offloads) Set(ifname string, on map[string]bool) error { return kernel.SetFeatures(ifname, on) }

// links is rtnetlink for the setter.
type links struct{}

// Read implements setter.Links.
func (links) Read(ifname string) (kernel.LinkState, error) { return kernel.ReadLink(ifname) }

// SetMTU implements setter.Links.
func (links) SetMTU(ifname string, mtu int) error { return kernel.SetMTU(ifname, mtu) }

// SetTxQueueLen implements setter.Links.
func (links) SetTxQueueLen(ifname string, n int) error { return kernel.SetTxQueueLen(ifname, n) }

// driver is ethtool's netlink for the setter.
type driver struct{}

// Get implements setter.Driver.
func (driver) Get(ifname string, g kernel.EthGroup) (map[string]int64, error) {
	return kernel.ReadEth(ifname, g)
}

// Set implements setter.Driver.
func (driver) Set(ifname string, g kernel.EthGroup, want map[string]int64) error {
	return kernel.SetEth(ifname, g, want)
}

// tables is the RSS table for the setter.
type tables struct{}

// Get implements setter.Tables.
func (tables) Get(ifname string) (kernel.RSS, error) { return kernel.ReadRSS(ifname) }

// Set implements setter.Tables.
func (tables) Set(ifname string, table []uint32) error { return kernel.SetRSS(ifname, table) }

// routes is rtnetlink's routing table for the setter.
type routes struct{}

// Get implements setter.Routes.
func (routes) Get(key kernel.RouteKey) (kernel.RouteMetrics, error) { return kernel.ReadRoute(key) }

// Set implements setter.Routes.
func (routes) Set(key kernel.RouteKey, m kernel.RouteMetrics) error { return kernel.SetRoute(key, m) }

// disciplines are rtnetlink's queueing disciplines for the setter.
type disciplines struct{}

// Get implements setter.Disciplines.
func (disciplines) Get(ifname string) (kernel.Qdisc, error) { return kernel.ReadQdisc(ifname) }

// Set implements setter.Disciplines.
func (disciplines) Set(ifname, kind string) error { return kernel.SetQdisc(ifname, kind) }

// SetMaxRate implements setter.Disciplines.
func (disciplines) SetMaxRate(ifname string, rate uint32) error {
	return kernel.SetFQMaxRate(ifname, rate)
}
