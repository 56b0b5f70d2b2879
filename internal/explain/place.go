package explain

import (
	"fmt"
	"slices"

	"linerate/internal/model"
	"linerate/internal/published"
	"linerate/internal/unit"
)

// fewPublished: among fewer results than this a place says nothing.
const fewPublished = 3

// place notes where the goodput of a mount, share or disk that was watched from
// one end lies among published results.
func place(v *model.Verdict, c *views) {
	end, direction := c.Receiver, "read"
	if end == nil {
		end, direction = c.Sender, "write"
	}
	if end == nil || c.Protocol == "" {
		return
	}
	if note := placeNote(published.All(), v.Measured, c.LineRate.Or(onlySpeed(end.Facts)), c.Protocol, direction); note != "" {
		v.Notes = append(v.Notes, note)
	}
}

// placeNote tells where a measured rate lies among the papers' results on the
// same protocol, direction and link; empty where they have too few of them.
func placeNote(all []published.Result, rate, line unit.BitRate, protocol, direction string) string {
	if rate <= 0 || line <= 0 || rate > line {
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
	return fmt.Sprintf("among published results like %q it is above %d of %d (other hardware, other years; linerate published --like %q --place %.3gGbit has them)",
		like, p.Lower, len(p.Compared), like, float64(rate/unit.Gbit))
}

// onlySpeed is the speed of all interfaces that are up; 0 where they differ.
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
