package app

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"linerate/internal/host"
	"linerate/internal/load"
	"linerate/internal/loop"
	"linerate/internal/model"
	"linerate/internal/reach"
	"linerate/internal/unit"
)

// MaxStreams is the most TCP connections at once between a pair.
const MaxStreams = load.MaxStreams

// Pair is two hosts that data flows between. The second may be named with a path:
// that is its export, and the first is its client.
type Pair struct {
	As     []string       // as the user named them
	Names  []host.Name    // the same, read
	agents []*host.Client // after Dial
}

// Stream is the TCP between a pair, as the user asked for it.
type Stream struct {
	LineRate model.Fact[unit.BitRate] // of the link; Absent where nobody stated it
	Via      string                   // data address of the second host; empty finds it
	File     string                   // of the export, to be read; empty takes the largest
	Streams  int                      // connections at once
	CC       string                   // congestion control; empty leaves the sender's default
}

// Way is the data path between a pair. Without an export data flows from the first
// host to the second; an export is read, so that it flows from the second to the first.
type Way struct {
	Sender, Receiver loop.End
	LineRate         model.Fact[unit.BitRate]
}

// ParsePair reads the names of two hosts.
func ParsePair(first, second string) (Pair, error) {
	h := Pair{As: []string{first, second}}
	for _, a := range h.As {
		n, err := host.ParseName(a)
		if err != nil {
			return Pair{}, err
		}
		h.Names = append(h.Names, n)
	}
	return h, nil
}

// Dial starts an agent on both hosts. Close ends those that were started, also after
// an error.
func (h *Pair) Dial(ctx context.Context, d reach.Dialler) (err error) {
	h.agents, err = d.DialAll(ctx, h.Names)
	return err
}

// Close ends the agents.
func (h *Pair) Close() {
	for _, a := range h.agents {
		_ = a.Close() // it has told what we want to know
	}
}

// Export is what the path of the second host's name exports, as both hosts see it; nil
// where it has no path. Its mount has no point where the first host has not mounted it.
func (h *Pair) Export(ctx context.Context, s Stream) (*loop.Export, error) {
	dir := h.Names[1].Path
	if dir == "" {
		return nil, nil
	}
	var f [2]*model.Facts
	var err error
	for i, a := range h.agents {
		if f[i], err = a.Facts(ctx); err != nil {
			return nil, fmt.Errorf("look at %s: %w", h.Names[i], err)
		}
	}
	also := h.agents[1].Data()
	if a, err := netip.ParseAddr(s.Via); err == nil {
		also = append(also, a)
	}
	e := loop.FindExport(f[0], f[1], dir, also...)
	e.File = s.File
	return &e, nil
}

// Way finds the data path. The second host's data address is the one that was stated,
// else the one that an export is mounted from, else what reach finds. Where the first
// host has no route there, the error is a *reach.NoRouteError, and the way leads from
// the first host to the second.
func (h *Pair) Way(ctx context.Context, d reach.Dialler, s Stream, export *loop.Export) (Way, error) {
	via := s.Via
	if via == "" && export != nil {
		via = export.Mount.Options["addr"]
	}
	from, to, err := reach.Path(ctx, via, h.Names, h.agents)
	var unrouted *reach.NoRouteError
	if err != nil && !errors.As(err, &unrouted) {
		return Way{}, err
	}
	if err == nil {
		if apart := reach.TwoHosts(from, to); apart != nil {
			return Way{}, fmt.Errorf("find the data path from %s to %s: %w", h.As[0], h.As[1], apart)
		}
	}
	w := Way{Sender: h.end(0, from), Receiver: h.end(1, to), LineRate: s.LineRate}
	if w.LineRate.State != model.Present {
		w.LineRate = d.StatedRate(ctx, h.Names[0], h.Names[1], to)
	}
	if export != nil && err == nil {
		w.Sender, w.Receiver = w.Receiver, w.Sender
	}
	return w, err
}

// end is one host of the pair, called as the user did but for the path.
func (h *Pair) end(i int, addr netip.Addr) loop.End {
	name := h.As[i]
	if dir := h.Names[i].Path; dir != "" {
		name = strings.TrimSuffix(name, ":"+dir)
	}
	return loop.End{Name: name, Addr: addr, Agent: h.agents[i]}
}

// String shows the way with both addresses.
func (w Way) String() string {
	return fmt.Sprintf("%s (%s) → %s (%s)", w.Sender.Name, w.Sender.Addr, w.Receiver.Name, w.Receiver.Addr)
}
