package explain

import (
	"fmt"
	"slices"

	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/published"
	"linerate/internal/unit"
)

// fewPublished: among fewer results than this a place says nothing.
const fewPublished = 3

// placeNote tells where a measured rate lies among the papers' results on the
// same protocol, direction and link; empty where they have too few of them.
func placeNote(all []published.Result, rate, line unit.BitRate, protocol, direction string) string {
	if protocol == "" || rate <= 0 || line <= 0 || rate > line {
		return ""
	}
	like := fmt.Sprintf("%gGbE %s %s", float64(line/unit.Gbit), protocol, direction)
	q, err := published.ParseQuery(like)
	if err != nil {
		return "" // the words are ours: there is no such link then
	}
	p, err := published.Place(all, rate, q)
	if err != nil || len(p.Compared) < fewPublished {
		return ""
	}
	return fmt.Sprintf("among published results like %q it is above %d of %d (other hardware, other years; linerate published --like %q --place %s has them)",
		like, p.Lower, len(p.Compared), like, compact(rate))
}

// compact is a rate as it is typed.
func compact(r unit.BitRate) string { return fmt.Sprintf("%.3gGbit", float64(r/unit.Gbit)) }

// protocolOf is what the target is read or written by, in the words of the
// published results; empty for plain TCP.
func protocolOf(t loop.Target) string {
	switch {
	case t.Mount != "":
		return "NFS"
	case t.Share != "":
		return "SMB"
	case t.Disk != "":
		return "iSCSI"
	}
	return ""
}

// addPlace adds the note to a watched transfer. The line rate is the stated one,
// or that of the only physical interface that is up.
func addPlace(r *model.Results, facts map[string]*model.Facts, t loop.Target, stated model.Fact[unit.BitRate]) {
	protocol := protocolOf(t)
	if protocol == "" || len(r.Runs) == 0 || len(r.Hosts) == 0 {
		return
	}
	here := r.Hosts[0]
	direction := "read"
	if sends(r.Runs[0].Samples[here]) {
		direction = "write"
	}
	if note := placeNote(published.All(), r.Verdict.Measured, stated.Or(onlySpeed(facts[here])), protocol, direction); note != "" {
		r.Verdict.Notes = append(r.Verdict.Notes, note)
	}
}

// sends tells whether the connections sent more than they received.
func sends(samples []model.Sample) bool {
	if len(samples) < 2 {
		return false
	}
	var sent, received int64
	for i, s := range []model.Sample{samples[0], samples[len(samples)-1]} {
		for _, c := range s.Conns {
			sign := int64(2*i - 1)
			sent, received = sent+sign*c.BytesAcked, received+sign*c.BytesReceived
		}
	}
	return sent > received
}

func onlySpeed(f *model.Facts) unit.BitRate {
	if f == nil {
		return 0
	}
	var speeds []unit.BitRate
	for _, n := range f.NICs {
		if v, ok := n.Speed.Get(); ok && n.Up {
			speeds = append(speeds, v)
		}
	}
	slices.Sort(speeds)
	if speeds = slices.Compact(speeds); len(speeds) != 1 {
		return 0
	}
	return speeds[0]
}
