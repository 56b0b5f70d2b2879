package rules

import (
	"linerate/internal/model"
	"linerate/internal/unit"
)

// complete takes a path of which nothing is known from the storage connections
// that the host has: of all of them the one with most to be in flight, by the
// smallest round trip its connections ever saw and the speed of its NIC.
func (c Context) complete(f *model.Facts) Context {
	if c.RTT > 0 || c.LineRate > 0 {
		return c // half of another path would make a path that nobody has
	}
	if path, _ := StoragePath(f); path.BDP() > 0 {
		path.Earlier = c.Earlier
		return path
	}
	return c
}

// StoragePath is the path to the storage that this host has mounted: of all
// mounts the one with most to be in flight, by the smallest round trip that its
// connections ever saw and the speed of its port. nil: no mount tells.
func StoragePath(f *model.Facts) (Context, *model.NetMount) {
	var best Context
	var of *model.NetMount
	for i, m := range f.Storage {
		one := Context{RTT: m.MinRTT.Or(0)}
		if n := nicNamed(f, m.Dev); n != nil {
			one.LineRate = PortRate(*n)
		}
		if one.BDP() > best.BDP() {
			best, of = one, &f.Storage[i]
		}
	}
	return best, of
}

// PortRate is what one connection can have of an interface: its speed, of a
// bond that of its fastest port, since a connection goes by one of them. 0 is
// not known.
func PortRate(n model.NIC) unit.BitRate {
	if b, ok := n.Bond.Get(); ok {
		return fastestPort(b)
	}
	return n.Speed.Or(0)
}

// nicNamed is the interface of a name, or nil.
func nicNamed(f *model.Facts, name string) *model.NIC {
	for i := range f.NICs {
		if f.NICs[i].Name == name && name != "" {
			return &f.NICs[i]
		}
	}
	return nil
}
