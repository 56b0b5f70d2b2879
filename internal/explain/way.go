package explain

import (
	"fmt"
	"net/netip"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// routers puts the routers of a way in words, in order; "" where they were not counted.
func routers(w *model.Crossing) string {
	if w == nil {
		return ""
	}
	n, counted := w.Hops.Get()
	switch {
	case !counted:
		return ""
	case n == 0:
		return "no router"
	}
	var named []string
	for _, a := range w.Routers {
		if a.IsValid() {
			named = append(named, a.String())
		} else {
			named = append(named, "one that does not answer")
		}
	}
	if named == nil {
		return unit.Count(n, "router")
	}
	return unit.Count(n, "router") + " (" + strings.Join(named, ", ") + ")"
}

// fallAt puts in words where the MTU of a way falls; "" where no router told.
func fallAt(w *model.Crossing) string {
	if w == nil || w.Fall == nil {
		return ""
	}
	name := func(a netip.Addr, none string) string {
		if !a.IsValid() {
			return none
		}
		return a.String()
	}
	text := "between " + name(w.Fall.After, "the sender") + " and " + name(w.Fall.Before, "the far end")
	for i, a := range w.Routers {
		if a == w.Fall.After && a.IsValid() {
			return text + fmt.Sprintf(", behind router %d of %d", i+1, len(w.Routers))
		}
	}
	return text
}

// wayEvidence adds what the probes saw of the way to a verdict that blames the path:
// between hosts without a router it is a cable or a switch, else it may be any hop.
func (v *views) wayEvidence(out *model.Verdict) {
	text := routers(v.Way)
	if out.Where != model.AtPath || text == "" {
		return
	}
	n := v.Way.Hops.Value
	e := model.Evidence{What: "the data pass " + text, Metric: "path_routers", Value: float64(n), Unit: "routers", N: 1}
	if n == 0 {
		e.What = "the data pass no router: what is between the hosts is cables and switches"
	}
	out.Evidence = append(out.Evidence, e)
}

// narrowHop adds where packets above the MTU of the way vanish, and what to do there.
// It tells whether the probes found the way smaller than wanted bytes.
func (f *finding) narrowHop(s *scene, wanted int) bool {
	w := s.c.Way
	if w == nil {
		return false
	}
	mtu, ok := w.PathMTU.Get()
	if !ok || mtu >= min(wanted, w.Tried) {
		return false
	}
	at := fallAt(w)
	if at == "" {
		f.say("", "path_mtu_probed", float64(mtu), "bytes", 1, "probes of more than %d bytes do not arrive, and no router tells where they end", mtu)
		f.advice = fmt.Sprintf("find the hop of MTU %d (tracepath) and raise it to %d", mtu, wanted)
		return true
	}
	f.say("", "path_mtu_probed", float64(mtu), "bytes", 1, "probes of more than %d bytes end %s", mtu, at)
	f.advice = fmt.Sprintf("raise the MTU %s to %d: packets of more than %d bytes do not pass there", at, wanted, mtu)
	return true
}

// wideWay adds that the probes found every hop as large as the interfaces, if they did.
func (f *finding) wideWay(s *scene) bool {
	w, in := s.c.Way, s.c.link.Inputs
	if w == nil {
		return false
	}
	mtu, ok := w.PathMTU.Get()
	if !ok || mtu < in.MTU {
		return false
	}
	through := ""
	if text := routers(w); text != "" {
		through = " through " + text
	}
	f.say("", "path_mtu_probed", float64(mtu), "bytes", 1, "probes of %d bytes arrive%s: no hop is smaller", mtu, through)
	return true
}
