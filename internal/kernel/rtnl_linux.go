package kernel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"linerate/internal/model"
)

// Links lists the interfaces of the calling thread's network namespace with
// their 64-bit counters.
func (Live) Links(ctx context.Context) ([]Link, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// netlink.LinkList would request the virtual functions too, which some drivers fetch from the
	// card's firmware; this function runs ten times a second.
	req := nl.NewNetlinkRequest(unix.RTM_GETLINK, unix.NLM_F_DUMP)
	req.AddData(nl.NewIfInfomsg(unix.AF_UNSPEC))
	msgs, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWLINK)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("list interfaces by rtnetlink: %w", err)
	}
	links := make([]Link, 0, len(msgs))
	for _, m := range msgs {
		l, err := netlink.LinkDeserialize(nil, m)
		if err != nil {
			return nil, fmt.Errorf("parse rtnetlink interface: %w", err)
		}
		links = append(links, linkOf(l))
	}
	return links, nil
}

func linkOf(l netlink.Link) Link {
	a := l.Attrs()
	out := Link{
		Index: a.Index, Name: a.Name, MTU: a.MTU, Kind: l.Type(), MAC: a.HardwareAddr.String(),
		Up:    a.RawFlags&(unix.IFF_UP|unix.IFF_RUNNING) == unix.IFF_UP|unix.IFF_RUNNING,
		Bus:   a.ParentDevBus,
		BusID: a.ParentDev,
		Count: model.NICCount{Name: a.Name},

		Master: a.MasterIndex, QueueLen: max(0, a.TxQLen),
	}
	if out.Kind == "device" {
		out.Kind = "" // the library's word for an interface without IFLA_INFO_KIND
	}
	if !allZero(a.PermHWAddr) {
		out.PermMAC = a.PermHWAddr.String()
	}
	if s := a.Statistics; s != nil {
		out.Count = model.NICCount{
			Name:    a.Name,
			RxBytes: int64(s.RxBytes), TxBytes: int64(s.TxBytes),
			RxPackets: int64(s.RxPackets), TxPackets: int64(s.TxPackets),
			RxErrors: int64(s.RxErrors), TxErrors: int64(s.TxErrors),
			RxDropped: int64(s.RxDropped), TxDropped: int64(s.TxDropped),
			RxCRC: int64(s.RxCrcErrors), RxMissed: int64(max(s.RxMissedErrors, s.RxFifoErrors)), // drivers count the same in either or both
		}
	}
	return out
}

func allZero(mac net.HardwareAddr) bool {
	for _, b := range mac {
		if b != 0 {
			return false
		}
	}
	return true
}

// Addrs lists the addresses of every interface, by link index.
func (Live) Addrs(ctx context.Context) (map[int][]netip.Prefix, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("list addresses by rtnetlink: %w", err)
	}
	out := map[int][]netip.Prefix{}
	for _, a := range list {
		if p, ok := prefixOf(a.IPNet); ok {
			out[a.LinkIndex] = append(out[a.LinkIndex], p)
		}
	}
	return out, nil
}

// Routes lists the main table. A route without a device (blackhole,
// unreachable) is left out: nothing leaves through it.
func (l Live) Routes(ctx context.Context) ([]model.Route, error) {
	links, err := l.Links(ctx)
	if err != nil {
		return nil, err
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Index] = l.Name
	}
	var out []model.Route
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := netlink.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_MAIN}, netlink.RT_FILTER_TABLE)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list routes by rtnetlink: %w", err)
		}
		for _, r := range list {
			out = append(out, routesOf(r, family, names)...)
		}
	}
	return out, nil
}

// routesOf returns one Route per next hop.
func routesOf(r netlink.Route, family int, names map[int]string) []model.Route {
	base := model.Route{MTU: r.MTU, Metric: r.Priority, Window: r.Window, Gateway: addrOf(r.Gw), Src: addrOf(r.Src), Dev: names[r.LinkIndex]}
	dst, ok := prefixOf(r.Dst)
	switch {
	case ok:
		base.Dst = dst
	case family == netlink.FAMILY_V4:
		base.Dst = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	default:
		base.Dst = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	if len(r.MultiPath) == 0 {
		if base.Dev == "" {
			return nil
		}
		return []model.Route{base}
	}
	out := make([]model.Route, 0, len(r.MultiPath))
	for _, hop := range r.MultiPath {
		one := base
		one.Gateway, one.Dev = addrOf(hop.Gw), names[hop.LinkIndex]
		out = append(out, one)
	}
	return out
}

func allQdiscs(ctx context.Context) ([]netlink.Qdisc, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list, err := netlink.QdiscList(nil)
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil, fmt.Errorf("list queueing disciplines by rtnetlink: %w", err)
	}
	return list, nil
}

// TxQueues implements QueueSource.
func (l Live) TxQueues(ctx context.Context) (map[int][]model.QueueCount, error) {
	list, err := allQdiscs(ctx)
	return txQueues(list), err
}

// txQueues are the disciplines below those roots that have one for each transmit queue: the minor
// number of a class is that of its queue and one (net/sched/sch_mq.c, sch_mqprio.c).
func txQueues(list []netlink.Qdisc) map[int][]model.QueueCount {
	roots := map[int]uint32{} // handles, by link
	for _, q := range list {
		if a := q.Attrs(); a.Parent == netlink.HANDLE_ROOT && (q.Type() == "mq" || q.Type() == "mqprio") {
			roots[a.LinkIndex] = a.Handle
		}
	}
	out := map[int][]model.QueueCount{}
	for _, q := range list {
		a := q.Attrs()
		root, ok := roots[a.LinkIndex]
		major, minor := netlink.MajorMinor(a.Parent)
		if of, _ := netlink.MajorMinor(root); !ok || a.Parent == netlink.HANDLE_ROOT || major != of || minor == 0 {
			continue
		}
		c := model.QueueCount{Queue: int(minor) - 1}
		if s := a.Statistics; s != nil && s.Basic != nil {
			c.Bytes, c.Packets = int64(s.Basic.Bytes), int64(s.Basic.Packets)
		}
		if s := a.Statistics; s != nil && s.Queue != nil {
			c.Drops, c.Backlog = int64(s.Queue.Drops), int64(s.Queue.Backlog)
		}
		out[a.LinkIndex] = append(out[a.LinkIndex], c)
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b model.QueueCount) int { return cmp.Compare(a.Queue, b.Queue) })
	}
	return out
}

// Qdiscs lists the root queueing discipline of every interface.
func (l Live) Qdiscs(ctx context.Context) (map[int]model.QdiscCount, error) {
	list, err := allQdiscs(ctx)
	if err != nil {
		return nil, err
	}
	out := map[int]model.QdiscCount{}
	for _, q := range list {
		a := q.Attrs()
		if a.Parent != netlink.HANDLE_ROOT {
			continue
		}
		c := model.QdiscCount{Kind: q.Type()}
		if s := a.Statistics; s != nil && s.Basic != nil {
			c.Bytes, c.Packets = int64(s.Basic.Bytes), int64(s.Basic.Packets)
		}
		if s := a.Statistics; s != nil && s.Queue != nil {
			c.Drops, c.Overlimits, c.Backlog = int64(s.Queue.Drops), int64(s.Queue.Overlimits), int64(s.Queue.Backlog)
		}
		out[a.LinkIndex] = c
	}
	return out, nil
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	ones, _ := n.Mask.Size()
	a := addrOf(n.IP)
	return netip.PrefixFrom(a, ones), a.IsValid()
}

func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}
