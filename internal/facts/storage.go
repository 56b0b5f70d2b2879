package facts

import (
	"context"
	"net/netip"
	"slices"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// established is TCP_ESTABLISHED of include/net/tcp_states.h.
const established = 1

// readStorage finds the connections of each mounted network file system. It does not access the
// mounts.
func readStorage(ctx context.Context, src kernel.Source, f *model.Facts) error {
	var want kernel.TCPFilter
	asked := readFstab(src)
	for _, m := range f.Mounts {
		i := MountInfo{Mount: m}
		if err := fillServer(&i); err != nil {
			continue
		}
		n := model.NetMount{Point: m.Point, Type: m.Type, Server: i.Addr, Port: i.Port, Proto: i.Proto, Dev: routeDev(f, i.Addr)}
		n.Asked = asked[m.Point]
		if m.Type == "cifs" || m.Type == "smb3" {
			addChannels(src, &i)
		}
		for _, e := range i.More {
			n.More = append(n.More, e.Addr())
		}
		if m.Type == "nfs" || m.Type == "nfs4" {
			n.Ahead = kib(src, "/sys/class/bdi/"+m.Dev+"/read_ahead_kb")
		}
		f.Storage = append(f.Storage, n)
		want.Addrs, want.Ports = append(append(want.Addrs, i.Addr), n.More...), append(want.Ports, i.Port)
	}
	if len(f.Storage) == 0 {
		return nil
	}
	conns, err := src.TCPConns(ctx, want)
	if err != nil {
		for i := range f.Storage {
			f.Storage[i].Conns, f.Storage[i].MinRTT = lost[int](err), lost[model.Nanos](err)
		}
		return err
	}
	for i := range f.Storage {
		countConns(&f.Storage[i], conns)
	}
	return nil
}

// countConns counts the established connections to a mount's server.
func countConns(n *model.NetMount, conns []model.Conn) {
	count := 0
	var sources []netip.Addr
	for _, c := range conns {
		to := c.Remote.Addr().Unmap().WithZone("")
		if c.State != established || c.Remote.Port() != n.Port || to != n.Server.WithZone("") && !slices.Contains(n.More, to) {
			continue
		}
		count++
		if !slices.Contains(sources, c.Local.Addr()) {
			sources = append(sources, c.Local.Addr())
		}
		if c.MinRTT > 0 && (n.MinRTT.State != model.Present || c.MinRTT < n.MinRTT.Value) {
			n.MinRTT = model.Known(c.MinRTT)
		}
	}
	n.Conns, n.Sources = model.Known(count), len(sources)
}

// routeDev is the interface of the longest matching route in the main table; empty if there is
// none. Policy routing is ignored.
func routeDev(f *model.Facts, to netip.Addr) string {
	best, metric, dev := -1, 0, ""
	for _, r := range f.Routes {
		if r.Dst.Contains(to.WithZone("")) && (r.Dst.Bits() > best || r.Dst.Bits() == best && r.Metric < metric) {
			best, metric, dev = r.Dst.Bits(), r.Metric, r.Dev
		}
	}
	return dev
}
