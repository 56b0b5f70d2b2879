package rules

import (
	"net/netip"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// PairRule is one conclusion that can be drawn from two hosts and the probes
// between them. Check fills all of a finding but Rule and Limiters; Host is the end to act
// at, empty where that is the network between.
type PairRule struct {
	ID     string
	Doc    string            // one sentence: what it looks for and why that costs goodput
	Limits []model.LimiterID // as of Rule
	Check  func(p *model.Pair) []model.Finding
}

// CheckPair runs every pair rule and returns the findings, worst first.
func CheckPair(p *model.Pair) []model.Finding {
	var out []model.Finding
	for _, r := range AllPairs() {
		for _, found := range r.Check(p) {
			found.Rule, found.Limiters = r.ID, r.Limits
			out = append(out, found)
		}
	}
	order := Severities()
	slices.SortStableFunc(out, func(a, b model.Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	return out
}

// eachWay collects what look finds of both directions.
func eachWay(p *model.Pair, look func(from, to *model.PairEnd, c model.Crossing) *model.Finding) []model.Finding {
	var out []model.Finding
	if f := look(&p.A, &p.B, p.AToB); f != nil {
		out = append(out, *f)
	}
	if f := look(&p.B, &p.A, p.BToA); f != nil {
		out = append(out, *f)
	}
	return out
}

// meant is the interface of an end that has its data address, or nil.
func meant(e *model.PairEnd) *model.NIC {
	if e.Facts == nil {
		return nil
	}
	return nicNamed(e.Facts, e.Meant)
}

// portSpeed is the speed that one connection can have of an interface: that of
// one port of a bond; 0 where it is not known.
func portSpeed(n *model.NIC) unit.BitRate {
	if n == nil {
		return 0
	}
	if b, ok := n.Bond.Get(); ok {
		return fastestPort(b)
	}
	return n.Speed.Or(0)
}

// Ends are the interfaces and addresses by which two hosts are meant to
// exchange data.
type Ends struct {
	A, B         string // interfaces
	AAddr, BAddr netip.Addr
}

// MeantPath chooses, of the networks that both hosts are in, the fastest: by the
// slower of the two ports, then by the smaller MTU. Addresses that were stated
// come before that. ok is false when the hosts have no network in common.
func MeantPath(a, b *model.Facts, statedA, statedB []netip.Addr) (best Ends, ok bool) {
	type rank struct {
		stated int
		speed  unit.BitRate
		mtu    int
	}
	better := func(x, y rank) bool {
		switch {
		case x.stated != y.stated:
			return x.stated > y.stated
		case x.speed != y.speed:
			return x.speed > y.speed
		}
		return x.mtu > y.mtu
	}
	var top rank
	for i, n := range a.NICs {
		for j, m := range b.NICs {
			e, common := commonNet(n, m)
			if !common || !carries(n) || !carries(m) {
				continue
			}
			r := rank{speed: min(portSpeed(&a.NICs[i]), portSpeed(&b.NICs[j])), mtu: min(n.MTU, m.MTU)}
			if slices.Contains(statedA, e.AAddr) {
				r.stated++
			}
			if slices.Contains(statedB, e.BAddr) {
				r.stated++
			}
			if !ok || better(r, top) {
				best, top, ok = e, r, true
			}
		}
	}
	return best, ok
}

// carries tells whether an interface can have data of other hosts. Bridges
// that containers and machines of the same host hang on have no carrier from
// outside, but that does not show: the same address at both ends does.
func carries(n model.NIC) bool { return n.Up && n.Name != "lo" && n.Master == "" }

// commonNet finds addresses of one network, IPv4 first. The same address at
// both ends is a network of each host's own (docker0, virbr0).
func commonNet(n, m model.NIC) (Ends, bool) {
	var found Ends
	for _, p := range n.Addrs {
		for _, q := range m.Addrs {
			usable := p.IsValid() && q.IsValid() && p.Masked() == q.Masked() && p.Addr() != q.Addr() && !p.IsSingleIP() && p.Bits() > 0
			if !usable || p.Addr().IsLinkLocalUnicast() || found.A != "" && !p.Addr().Is4() {
				continue
			}
			if found.A == "" || found.AAddr.Is6() {
				found = Ends{n.Name, m.Name, p.Addr(), q.Addr()}
			}
		}
	}
	return found, found.A != ""
}

// PathRate is the slower of the two ports that are meant, each as one connection
// can use it.
func PathRate(a, b *model.Facts, e Ends) model.Fact[unit.BitRate] {
	x, y := portSpeed(nicNamed(a, e.A)), portSpeed(nicNamed(b, e.B))
	if x == 0 || y == 0 {
		return model.Unknown[unit.BitRate](model.Absent, "a port does not tell its speed")
	}
	return model.Known(min(x, y))
}
