package explain

import (
	"fmt"
	"slices"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// Names of the rungs, in the order in which each builds on those before it.
const (
	RungMemory   = "memory"
	RungLoopback = "local loopback"
	RungStream   = "one TCP stream"
	RungStreams  = "N TCP streams"
	RungReverse  = "N TCP streams, reverse"
	RungDisk     = "server disk"
	RungCached   = "server disk, cached"
	RungRAM      = "protocol on RAM"
	RungWhole    = "whole path"
	// RungWrite is the whole path the other way. It is on the ladder only where
	// a directory to write to was named.
	RungWrite = "whole path, writing"
)

// Ladder lays out the rungs from memory to the whole path; all nine are always
// there. A rung that this case did not measure says what would reveal it. The
// cause of a slow transfer is at the first rung that drops.
func Ladder(c Case, v model.Verdict) []model.Rung {
	out := blank(c)
	n := len(lookAtLink(c).flows)
	switch {
	case n == 0:
	case c.Passive:
		reveal(out, RungWhole, v)
	case n == 1:
		reveal(out, RungStream, v)
	default:
		reveal(out, RungStreams, v)
	}
	return out
}

// Writing is the rung of a write: measured or not it stands last.
func Writing(g Ground) model.Rung {
	e := g.ceiling(RungWrite)
	return model.Rung{Rung: RungWrite, Ceiling: e.Ceiling, Formula: e.Formula}
}

// blank is the ladder before anything is measured.
func blank(c Case) []model.Rung {
	g := Ground{Sender: c.Sender, Receiver: c.Receiver, LineRate: c.LineRate}
	var out []model.Rung
	for _, r := range []struct{ rung, how string }{
		{RungMemory, "measure a memory copy: linerate explain CLIENT SERVER --load does; it matters once the rungs below reach tens of Gbit/s"},
		{RungLoopback, "run TCP inside each host: linerate explain CLIENT SERVER --load does"},
		{RungStream, "run one memory-to-memory stream between both ends (needs a login at each)"},
		{RungStreams, "run several memory-to-memory streams at once: together they go around the limits of one window and one core"},
		{RungReverse, "run them the other way too: linerate explain CLIENT SERVER --load does"},
		{RungDisk, "log in at the server and read the file there, past its cache: linerate explain CLIENT SERVER:/export --load"},
		{RungCached, "read it there a second time, from its cache: linerate explain CLIENT SERVER:/export --load"},
		{RungRAM, "export a RAM-backed directory from the server and copy from it: what is then missing is the protocol's"},
		{RungWhole, "watch a real copy: linerate explain MOUNT while it runs"},
	} {
		e := g.ceiling(r.rung)
		out = append(out, model.Rung{Rung: r.rung, Ceiling: e.Ceiling, Formula: e.Formula, How: r.how})
	}
	return out
}

// reveal marks a rung as measured.
func reveal(ladder []model.Rung, name string, v model.Verdict) {
	for i := range ladder {
		if r := &ladder[i]; r.Rung == name {
			rate := v.Measured
			r.Measured, r.Seen, r.How = &rate, true, ""
		}
	}
}

// drops: a rung that reaches less than this share of its prediction falls short
// of it by more than runs of seconds differ.
const drops = 0.8

// slowLoopback: a loopback that carries less than this is slow, whatever makes it so. Most hosts
// carry many times as much on one core; a weak or busy one may not.
const slowLoopback = 500 * unit.Mbit

// slowInside tells whether TCP inside a host is slow, and as slow as between the hosts but for how far
// two runs differ: a filter or a policer of its own, say, acts in both, and no cable is to blame. A
// loopback that carries more does not account for what is seen between the hosts.
func slowInside(inside, between unit.BitRate) bool {
	return inside < slowLoopback && inside <= rungsSame*between
}

// FirstDrop says which rung is the first to fall short of what facts and the
// rungs below predicted; empty when none does or none was predicted.
func FirstDrop(ladder []model.Rung) string {
	if s := dropInside(ladder); s != "" {
		return s
	}
	for _, r := range ladder {
		switch r.Rung {
		case RungMemory, RungLoopback, RungDisk, RungCached:
			continue // what bounds them leaves out work that they must do
		}
		if !r.Seen || r.Measured == nil || r.Predicted == nil || *r.Predicted <= 0 || *r.Measured >= drops**r.Predicted {
			continue
		}
		return fmt.Sprintf("the first rung that falls short of its prediction is %s: %s measured, %s predicted from the rungs below", r.Rung, *r.Measured, *r.Predicted)
	}
	return ""
}

// dropInside tells of a host in which TCP is as slow as between the hosts, and slower than its core
// was predicted to be.
func dropInside(ladder []model.Rung) string {
	inside, stream := rungOf(ladder, RungLoopback), rungOf(ladder, RungStream)
	for _, r := range []*model.Rung{inside, stream} {
		if r == nil || !r.Seen || r.Measured == nil {
			return ""
		}
	}
	if stream.Predicted == nil || *stream.Measured >= drops**stream.Predicted || !slowInside(*inside.Measured, *stream.Measured) {
		return ""
	}
	if p := inside.Predicted; p != nil && *inside.Measured >= drops**p {
		return ""
	}
	return fmt.Sprintf("the first rung that falls short is %s: inside one of the hosts, with no cable on the way, TCP reaches %s (the ladder says in which): look there first, at its packet filter and the limits of its services",
		inside.Rung, *inside.Measured)
}

func rungOf(ladder []model.Rung, name string) *model.Rung {
	i := slices.IndexFunc(ladder, func(r model.Rung) bool { return r.Rung == name })
	if i < 0 {
		return nil
	}
	return &ladder[i]
}
