package rules

import (
	"linerate/internal/model"
	"linerate/internal/unit"
)

// complete fills in an unknown path from the host's storage connections.
func (c Context) complete(f *model.Facts) Context {
	if c.RTT > 0 || c.LineRate > 0 {
		return c // the rate of one path and the RTT of another describe neither
	}
	if path, _ := StoragePath(f); path.BDP() > 0 {
		path.Earlier = c.Earlier
		return path
	}
	return c
}

// StoragePath is the path to the mounted storage with the largest bandwidth-delay product,
// computed from the minimum RTT of the mount's connections and the speed of the port. It is
// nil if both are known for no mount.
func StoragePath(f *model.Facts) (Context, *model.NetMount) {
	var best Context
	var of *model.NetMount
	for i, m := range f.Storage {
		one := Context{RTT: m.MinRTT.Or(0), LineRate: portSpeed(nicNamed(f, m.Dev))}
		if one.BDP() > best.BDP() {
			best, of = one, &f.Storage[i]
		}
	}
	return best, of
}

// PortRate is the rate that one connection can reach on an interface: its speed; for a bond, the
// speed of its fastest port, since a connection uses only one. 0 is unknown.
func PortRate(n model.NIC) unit.BitRate {
	if b, ok := n.Bond.Get(); ok {
		return fastestPort(b)
	}
	return n.Speed.Or(0)
}

// nicNamed is the interface with this name, or nil.
func nicNamed(f *model.Facts, name string) *model.NIC {
	for i := range f.NICs {
		if f.NICs[i].Name == name && name != "" {
			return &f.NICs[i]
		}
	}
	return nil
}
