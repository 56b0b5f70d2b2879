package rules

import "linerate/internal/model"

// complete takes a path of which nothing is known from the storage connections
// that the host has: of all of them the one with most to be in flight, by the
// smallest round trip its connections ever saw and the speed of its NIC.
func (c Context) complete(f *model.Facts) Context {
	if c.RTT > 0 || c.LineRate > 0 {
		return c // half of another path would make a path that nobody has
	}
	best := c
	for _, m := range f.Storage {
		one := Context{RTT: m.MinRTT.Or(0)}
		if n := nicNamed(f, m.Dev); n != nil {
			one.LineRate = n.Speed.Or(0)
			if b, ok := n.Bond.Get(); ok {
				one.LineRate = fastestPort(b) // windows are per connection, and that goes by one port
			}
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
