package explain

import (
	"fmt"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// views is a case with all that detectors, probes and the verdict look at. look works
// out each of them once.
type views struct {
	Case
	flows            []flow
	minor            []flow     // that moved next to nothing beside those
	sendNIC, readNIC *model.NIC // that carry the data; nil: not known
	link             CeilingResult
	outrun           CeilingResult // what link was, if more than that passed
	scenes           []*scene      // one for each flow with a steady part
	goodput          float64       // of all flows together, bit/s
	mount            *mountView    // nil: no mount, share or disk was used
	server           *serverView   // that serves the mount; nil: not seen
	copy             *copyView     // what our own copy tells; nil: none runs
	hosts            map[hostKey]*hostView
}

// hostKey names the samples from which the host of an end is looked at: flows with the same steady
// span share one view of it.
type hostKey struct {
	sender   bool
	first, n int
}

// host is the host of an end over a span.
func (v *views) host(e *End, s span, sender bool) *hostView {
	if e == nil {
		return nil
	}
	key := hostKey{sender: sender}
	for i, x := range e.Samples {
		if x.At >= s.from && x.At <= s.to {
			if key.n++; key.n == 1 {
				key.first = i
			}
		}
	}
	if h := v.hosts[key]; h != nil {
		return h
	}
	if v.hosts == nil {
		v.hosts = map[hostKey]*hostView{}
	}
	nic := v.readNIC
	if sender {
		nic = v.sendNIC
	}
	h := viewHost(e, s, nic, sender)
	v.hosts[key] = h
	return h
}

// look works out all views of a case.
func look(c Case) *views {
	v := lookAtLink(c)
	for _, f := range v.flows {
		if s := v.scene(f); s != nil && c.Unreached == nil { // else what moved is others'
			v.scenes = append(v.scenes, s)
		}
	}
	v.copy = viewCopy(c)
	v.goodput = v.measured()
	v.dropOutrun()
	for _, s := range v.scenes {
		s.total = v.goodput
	}
	if v.mount = viewMount(v); v.mount != nil {
		v.server = viewServer(v)
	}
	if v.copy != nil && len(v.scenes) == 0 {
		v.goodput = 8 * v.copy.rate
	}
	return v
}

// outrunBy is by how much more than its ceiling a path may seem to carry: a measurement
// that begins and ends between two samples is off by less.
const outrunBy = 1.05

// dropOutrun forgets a ceiling that was passed: the line is faster than was stated or than its
// interfaces tell, and how much faster is not known. Nothing is "at its ceiling" then.
func (v *views) dropOutrun() {
	if v.link.Rate == nil || !(v.goodput > outrunBy*float64(*v.link.Rate)) {
		return
	}
	v.outrun, v.link.Rate = v.link, nil
	for _, s := range v.scenes {
		s.ceiling = unknown()
	}
}

// outrunNote says that a ceiling was dropped, and what would give another.
func (v *views) outrunNote() []string {
	r := v.outrun.Rate
	if r == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s of payload passed, and a line of %s (%s) carries at most %s: the line is faster, its ceiling is not known; state what the slowest link carries (--line-rate)",
		unit.BitRate(v.goodput), v.outrun.Inputs.LineRate, v.outrun.Inputs.From, *r)}
}

// lookAtLink works out the flows, the interfaces that carry them, and the ceiling.
func lookAtLink(c Case) *views {
	snd, rcv := tracks(c.Sender), tracks(c.Receiver)
	v := &views{Case: c, sendNIC: c.Sender.dataNIC(snd), readNIC: c.Receiver.dataNIC(rcv)}
	v.flows, v.minor = pairUp(snd, rcv)
	v.link = v.ceiling()
	return v
}

// nicOf is the interface of an end of the case that carries the data.
func (v *views) nicOf(e *End) *model.NIC {
	if e == v.Sender {
		return v.sendNIC
	}
	return v.readNIC
}

// scene computes the features of one flow; nil where it has no steady part.
func (v *views) scene(f flow) *scene {
	sp := f.steady()
	s := &scene{c: v, flow: f, span: sp, minRTT: f.minRTT(), ceiling: unknown(), bytes: float64(f.bytes())}
	if r := v.link.Rate; r != nil {
		s.ceiling = float64(*r)
	}
	s.snd = viewSender(f.snd, sp, s.minRTT)
	s.rcv = viewReceiver(f.rcv, sp, s.minRTT)
	if s.snd == nil && s.rcv == nil {
		return nil
	}
	s.countTwice()
	s.sender = v.host(v.Sender, sp, true)
	s.reader = v.host(v.Receiver, sp, false)
	s.lateByHost()
	return s
}

// measured is the goodput of all flows together in bit/s over the time from the first steady moment
// to the last, of bursts with a pause for each: as the receiving application counted it, else as the
// receiving kernel did, else as acknowledged to the sender.
func (v *views) measured() float64 {
	if g, ok := v.Goodput.Get(); ok && known(float64(g)) && g >= 0 {
		return float64(g)
	}
	if len(v.scenes) == 0 {
		return 0
	}
	all := v.scenes[0].span
	for _, s := range v.scenes {
		all.from, all.to = min(all.from, s.span.from), max(all.to, s.span.to)
	}
	minor, counted := v.minorCount(), v.withPauses(all)
	if len(v.scenes) == 1 && !minor && counted == all {
		return max(0, v.scenes[0].rate())
	}
	from, to := counted.from.Seconds(), counted.to.Seconds()
	// What a flow moved outside of its own steady part counts, too: others may be steady before it is, or
	// after, and the path carried it all the same.
	rate := 0.0
	for _, s := range v.scenes {
		if r, ok := v.rateBetween(s.flow, from, to); ok {
			rate += r
		} else { // it was not sampled then
			rate += s.rate() / 8
		}
	}
	for _, f := range v.minor {
		if r, ok := v.rateBetween(f, from, to); ok && minor {
			rate += r
		}
	}
	return max(0, 8*rate)
}

// minorCount tells whether the connections that moved little moved much together.
func (v *views) minorCount() bool {
	var all, minor int64
	for _, f := range v.flows {
		all += f.bytes()
	}
	for _, f := range v.minor {
		minor += f.bytes()
	}
	return float64(minor) >= minorShare*float64(all+minor)
}

// rateBetween is what a flow moved in a second between two moments, in bytes, in so far as its end was
// sampled then; false: it was not.
func (v *views) rateBetween(f flow, from, to float64) (float64, bool) {
	first, last := v.endOf(f).sampled()
	a, b := max(first.Seconds(), from), min(last.Seconds(), to)
	if b <= a {
		return 0, false
	}
	return f.movedBetween(a, b) / (b - a), true
}

// endOf is the end by whose counters a flow's goodput is told.
func (v *views) endOf(f flow) *End {
	if len(f.rcv) > 0 {
		return v.Receiver
	}
	return v.Sender
}

// sampled is from when to when an end was sampled.
func (e *End) sampled() (from, to time.Duration) {
	if e == nil || len(e.Samples) == 0 {
		return 0, 0
	}
	return e.Samples[0].At, e.Samples[len(e.Samples)-1].At
}

// streams is how many flows share the path, at least one.
func (v *views) streams() float64 { return float64(max(1, len(v.flows))) }
