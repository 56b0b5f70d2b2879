package rules

import "linerate/internal/model"

// complete fills in what is not known of the path from the storage connections
// that the host has: of all of them the one with most to be in flight, by the
// smallest round trip its connections ever saw and the speed of its NIC.
func (c Context) complete(f *model.Facts) Context {
	if c.RTT > 0 && c.LineRate > 0 {
		return c
	}
	best := c
	for _, m := range f.Storage {
		one := c
		if rtt, ok := m.MinRTT.Get(); ok && one.RTT == 0 {
			one.RTT = rtt
		}
		if n := nicNamed(f, m.Dev); n != nil && one.LineRate == 0 {
			one.LineRate = n.Speed.Or(0)
		}
		if one.BDP() > best.BDP() {
			best = one
		}
	}
	return best
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
