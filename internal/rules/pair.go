package rules

import (
	"net/netip"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// PairRule is one conclusion that can be drawn from two hosts and the probes between them. Check
// fills all of a finding but Rule and Limiters; Host is the end to act at; empty if the
// network between them is the cause.
type PairRule struct {
	ID     string
	Doc    string            // one sentence: what it detects and why that costs goodput
	Limits []model.LimiterID // as of Rule
	Check  func(p *model.Pair) []model.Finding
}

// CheckPair runs every pair rule and returns the findings, worst first.
func CheckPair(p *model.Pair) []model.Finding {
	var out []model.Finding
	for _, r := range AllPairs() {
		for _, found := range fewest(r.Check(p)) {
			found.Rule, found.Limiters = r.ID, r.Limits
			out = append(out, found)
		}
	}
	return worstFirst(out)
}

// eachWay collects the findings of check on both directions.
func eachWay(p *model.Pair, check func(from, to *model.PairEnd, c model.Crossing) *model.Finding) []model.Finding {
	both := []*model.Finding{check(&p.A, &p.B, p.AToB), check(&p.B, &p.A, p.BToA)}
	return each(both, func(f *model.Finding) *model.Finding { return f })
}

// meant is the interface that has the data address of an end; nil if unknown.
func meant(e *model.PairEnd) *model.NIC {
	if e.Facts == nil {
		return nil
	}
	return nicNamed(e.Facts, e.Meant)
}

// portSpeed is PortRate, or 0 if n is nil.
func portSpeed(n *model.NIC) unit.BitRate {
	if n == nil {
		return 0
	}
	return PortRate(*n)
}

// Ends are the interfaces and addresses by which two hosts are meant to exchange data.
type Ends struct {
	A, B         string // interfaces
	AAddr, BAddr netip.Addr
}

// MeantPath chooses the fastest of the networks that both hosts are in: by the slower of the two
// ports, then by the smaller MTU. Stated addresses take precedence. ok is false when the hosts
// share no network.
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

// carries reports whether an interface can carry traffic of other hosts. Bridges of containers
// and virtual machines pass this test too; commonNet excludes them because both hosts have the
// same address there.
func carries(n model.NIC) bool { return n.Up && n.Name != "lo" && n.Master == "" }

// commonNet finds addresses in one network, IPv4 first. An address that both ends have belongs to
// a private network of each host (docker0, virbr0) and does not count.
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

// PathRate is the speed of the slower of the two ports, each as one connection can use it.
func PathRate(a, b *model.Facts, e Ends) model.Fact[unit.BitRate] {
	x, y := portSpeed(nicNamed(a, e.A)), portSpeed(nicNamed(b, e.B))
	if x == 0 || y == 0 {
		return model.Unknown[unit.BitRate](model.Absent, "a port does not tell its speed")
	}
	return model.Known(min(x, y))
}
