package tune

import (
	"maps"
	"math"
	"net/netip"
	"slices"

	"linerate/internal/model"
	"linerate/internal/study"
	"linerate/internal/unit"
)

// What a connection's rate has to be like to say something of its path: in each window the sender had
// data to send for nearly all the time, by the kernel's own account (tcpi_busy_time), and did not run
// out of it (tcpi_delivery_rate_app_limited). A rate that the application chose says nothing.
const (
	fedShare     = 0.9
	someRate     = 1e6  // bits a second; what moves less is no transfer
	leastRateRel = 0.05 // of the median: what costs less counts as healthy
)

// flow is a connection to the peer.
type flow struct{ local, remote netip.AddrPort }

// flows are the transfers to the peer that a look has seen.
type flows struct {
	fed   map[flow][]float64 // bits a second in each window, of those that had data to send in all of them
	other int                // connections that moved data, and had not always more
}

// flowsOf are the transfers to a peer between each two samples.
func flowsOf(samples []model.Sample, peer netip.Addr) flows {
	out := flows{fed: map[flow][]float64{}}
	rates, fed := map[flow][]float64{}, map[flow]int{}
	windows := 0
	for i := 1; i < len(samples); i++ {
		span := samples[i].HostAt.Sub(samples[i-1].HostAt).Seconds()
		if span <= 0 {
			continue // its clock was set
		}
		windows++
		was := map[flow]model.Conn{}
		for _, c := range samples[i-1].Conns {
			was[flow{c.Local, c.Remote}] = c
		}
		for _, c := range samples[i].Conns {
			k := flow{c.Local, c.Remote}
			before, ok := was[k]
			if !ok || c.Remote.Addr().Unmap() != peer.Unmap() {
				continue
			}
			rates[k] = append(rates[k], 8*float64(c.BytesAcked-before.BytesAcked)/span)
			if (c.Busy-before.Busy).Seconds() >= fedShare*span && !c.AppLimited {
				fed[k]++
			}
		}
	}
	for k, r := range rates {
		switch {
		case windows > 0 && fed[k] == windows:
			out.fed[k] = r
		case slices.Max(r) >= someRate:
			out.other++
		}
	}
	return out
}

// rate is what the transfers that went on before and after carried together; why says why it cannot
// be compared, if it cannot. More connections, or fewer, carry another rate over the same path.
func rate(before, after flows) (b, a study.Spread, why string) {
	switch {
	case len(before.fed)+len(after.fed)+before.other+after.other == 0:
		return b, a, "no transfer to the peer went on"
	case len(before.fed) == 0 && len(after.fed) == 0:
		return b, a, "what was sent to the peer was not all the path could carry"
	case !maps.EqualFunc(before.fed, after.fed, func(x, y []float64) bool { return true }):
		return b, a, "transfers to the peer began, ended or paused meanwhile"
	}
	return sum(before.fed), sum(after.fed), ""
}

// sum is the spread of what all carry together, window by window.
func sum(fed map[flow][]float64) study.Spread {
	var all []float64
	for _, r := range fed {
		if len(all) == 0 {
			all = make([]float64, len(r))
		}
		for i := range min(len(all), len(r)) {
			all[i] += r[i]
		}
	}
	return study.SpreadOf(all)
}

// less is a spread of which less is worse, as one of which more is.
func less(s study.Spread) study.Spread {
	return study.Spread{Low: -s.High, Median: -s.Median, High: -s.Low, N: s.N}
}

// bits shows a rate, of either sign.
func bits(x float64) string { return unit.BitRate(math.Abs(x)).String() }

// rateWords says what was seen of the rate, or why nothing was.
func rateWords(before, after flows, peer bool) string {
	if !peer {
		return "a rate was not judged: the other end was not named"
	}
	b, a, why := rate(before, after)
	switch {
	case why != "":
		return "a rate was not judged: " + why
	case b.N < study.Least || a.N < study.Least:
		return "a rate was not judged: too few readings"
	}
	return "goodput to the peer " + bits(b.Median) + " before, " + bits(a.Median) + " after"
}
