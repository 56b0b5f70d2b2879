package facts

import (
	"errors"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// readBond reads /proc/net/bonding, for a bond.
func readBond(src kernel.Files, l kernel.Link) model.Fact[model.Bond] {
	if l.Kind != "bond" {
		return model.Fact[model.Bond]{}
	}
	b, err := src.ReadFile("/proc/net/bonding/" + l.Name)
	if err != nil {
		return lost[model.Bond](err)
	}
	bond, err := parseBond(string(b))
	if err != nil {
		return model.Unknown[model.Bond](model.Unsupported, err.Error())
	}
	return model.Known(bond)
}

// lacpBlind says what an ordinary user cannot see of LACP bonds: the kernel shows the partner
// only with CAP_NET_ADMIN.
func lacpBlind(f *model.Facts) {
	for _, n := range f.NICs {
		if b, ok := n.Bond.Get(); ok && strings.Contains(b.Mode, "802.3ad") && b.Partner == "" {
			f.CouldNotSee = append(f.CouldNotSee, model.Blind{
				What: "LACP partner of " + n.Name, WouldShow: "whether the switch speaks LACP", How: "run as root on that host",
			})
		}
	}
}

// parseBond reads "key: value" lines; those after "Slave Interface:" are of
// that port (drivers/net/bonding/bond_procfs.c).
func parseBond(s string) (model.Bond, error) {
	var b model.Bond
	for line := range strings.Lines(s) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if value = strings.TrimSpace(value); !ok {
			continue
		}
		if key == "Slave Interface" {
			b.Ports = append(b.Ports, model.BondPort{Name: value})
			continue
		}
		if n := len(b.Ports); n > 0 {
			portLine(&b.Ports[n-1], key, value)
			continue
		}
		switch key {
		case "Bonding Mode":
			b.Mode = value
		case "Transmit Hash Policy":
			b.Hash, _, _ = strings.Cut(value, " ")
		case "MII Polling Interval (ms)":
			b.MIIms = positive(value)
		case "ARP Polling Interval (ms)":
			b.ARPms = positive(value)
		case "Partner Mac Address":
			b.Partner = value
		case "Aggregator ID":
			b.Aggregator = value
		}
	}
	if b.Mode == "" {
		return b, errors.New("the file of the bond names no mode")
	}
	return b, nil
}

func portLine(p *model.BondPort, key, value string) {
	switch key {
	case "MII Status":
		p.Up = value == "up"
	case "Speed":
		p.Speed = unit.BitRate(positive(strings.TrimSuffix(value, " Mbps"))) * unit.Mbit
	case "Duplex":
		p.Duplex = value
	case "Link Failure Count":
		p.Failures = positive(value)
	case "Aggregator ID":
		if p.Aggregator == "" { // the partner's comes later by the same name
			p.Aggregator = value
		}
	}
}

// positive is a number, or 0 if it is none ("Unknown").
func positive(s string) int {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}
