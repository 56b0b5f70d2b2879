package published

import (
	"cmp"
	"fmt"
	"slices"

	"linerate/internal/unit"
)

// Placing is the place of a measured rate among published throughputs.
type Placing struct {
	Rate unit.BitRate
	// Share of the link's rate; nil: the query names no link.
	Share *float64
	// Compared are the throughputs that match every word of the query and can be
	// compared, highest first.
	Compared []Result
	// Lower and Higher count those that are certainly below and above Rate.
	// CannotTell counts the rest: the paper says "over 9 Gbps", or does not say whether its
	// megabyte is 10^6 or 2^20 bytes, and Rate is in between.
	Lower, Higher, CannotTell int
	// LeftOut counts the throughputs that match but are not compared: mere claims, results
	// whose meaning the paper leaves unclear, and results without a stated link rate, unless
	// the query says "local".
	LeftOut int
}

// Place finds the place of a rate among the results that match all of q. A rate
// that is not positive, or above the rate of q's link, is an error.
func Place(all []Result, rate unit.BitRate, q Query) (Placing, error) {
	p := Placing{Rate: rate}
	if !(rate > 0) {
		return p, fmt.Errorf("place %s: want a positive rate", rate)
	}
	if q.Link > 0 {
		if rate > q.Link {
			return p, fmt.Errorf("place %s among results on %s: more than the link carries; see that it is bits, not bytes, and one link", rate, q.Link)
		}
		s := float64(rate / q.Link)
		p.Share = &s
	}
	local := slices.ContainsFunc(q.Facets, func(f Facet) bool { return f.Word == "local" })
	for _, m := range Like(all, q) {
		switch {
		case len(m.Missed) > 0 || m.Metric != Throughput:
		case m.Claim || m.Unclear != "" || m.Link == 0 && !local:
			p.LeftOut++
		default:
			p.Compared = append(p.Compared, m.Result)
			p.count(m.Result)
		}
	}
	slices.SortStableFunc(p.Compared, func(a, b Result) int { return cmp.Compare(b.Rate(), a.Rate()) })
	return p, nil
}

func (p *Placing) count(r Result) {
	low, high := r.bounds()
	switch {
	case high >= 0 && p.Rate > high:
		p.Lower++
	case p.Rate < low:
		p.Higher++
	default:
		p.CannotTell++
	}
}
