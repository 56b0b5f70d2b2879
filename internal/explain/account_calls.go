package explain

import (
	"cmp"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// account is what is missing where calls carry the data, split by where a call's life
// goes: at the ceiling nothing but the wire would take time. nil where no ceiling is
// known or the path is at it.
func (m *mountView) account(v *views, named model.LimiterID) *model.Account {
	if v.link.Rate == nil {
		return nil
	}
	missing := float64(*v.link.Rate) - v.goodput
	busy := min(1, m.asked)
	if !(missing > (1-belowCeiling)*float64(*v.link.Rate)) || !known(busy) {
		return nil
	}
	slot, net := max(0, m.queue), min(m.net, m.rtt)
	server := max(0, m.rtt-net-m.wire)
	all := slot + net + server
	if !(all > 0) {
		return nil
	}
	var parts []model.AccountPart
	add := func(what string, share float64, by ...model.LimiterID) {
		p := model.AccountPart{What: what, Rate: unit.BitRate(missing * share)}
		if slices.Contains(by, named) {
			p.Limiter = named
		}
		if share > 0 {
			parts = append(parts, p)
		}
	}
	add("no call is under way", 1-busy, model.ApplicationSink, model.ApplicationSource)
	// Where the server is slow, slots are held for longer, and calls wait for one.
	waits := []model.LimiterID{m.kind.concurrency}
	if server > net {
		waits = append(waits, model.ServerTime)
	}
	add("calls wait for a slot", busy*slot/all, waits...)
	add("calls are on their way, a round trip each", busy*net/all, m.kind.concurrency)
	add("calls are at the server, or queue on the way", busy*server/all, model.ServerTime)
	slices.SortStableFunc(parts, func(a, b model.AccountPart) int { return cmp.Compare(b.Rate, a.Rate) })
	return balanced(missing, parts)
}
