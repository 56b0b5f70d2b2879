package explain

import "linerate/internal/model"

// Ladder lays out the rungs from memory to the whole path; all six are always
// there. A rung that this case did not measure says what would reveal it. The
// cause of a slow transfer is at the first rung that drops.
func Ladder(c Case, v model.Verdict) []model.Rung {
	ce := Ceiling(c)
	n := len(flows(c))
	load := !c.Passive && n > 0
	stream := model.Rung{Rung: "one TCP stream", Ceiling: ce.Rate, Formula: ce.Formula,
		How: "run one memory-to-memory stream between both ends (needs a login at each)"}
	streams := model.Rung{Rung: "N TCP streams", Ceiling: ce.Rate, Formula: ce.Formula,
		How: "run several memory-to-memory streams at once: together they go around the limits of one window and one core"}
	whole := model.Rung{Rung: "whole path", Ceiling: ce.Rate, Formula: ce.Formula,
		How: "watch a real copy: linerate explain MOUNT while it runs"}
	switch {
	case load && n == 1:
		reveal(&stream, v)
	case load:
		reveal(&streams, v)
	case n > 0:
		reveal(&whole, v)
	}
	return []model.Rung{
		{Rung: "memory", Formula: "copy bandwidth of both hosts, divided by the copies a byte takes", How: "measure a memory copy on the cores in use; it matters once the rungs below reach tens of Gbit/s"},
		stream, streams,
		{Rung: "server disk", Formula: "sequential read rate of the server's storage", How: "log in at the server and read the file there, past its cache"},
		{Rung: "protocol on RAM", Ceiling: ce.Rate, Formula: ce.Formula, How: "export a RAM-backed directory from the server and copy from it: what is then missing is the protocol's"},
		whole,
	}
}

// reveal marks a rung as measured.
func reveal(r *model.Rung, v model.Verdict) {
	rate := v.Measured
	r.Measured, r.Seen, r.How = &rate, true, ""
}
