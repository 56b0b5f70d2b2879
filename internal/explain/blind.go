package explain

import (
	"cmp"
	"fmt"
	"slices"

	"linerate/internal/model"
)

// nothingMoved is the verdict on a case without a transfer: a connection that
// never came up, or silence.
func nothingMoved(c Case) model.Verdict {
	if f := neverConnected(c); f != nil {
		return model.Verdict{Limiter: model.Outage, Where: model.AtPath, Confidence: sureOfSilence, Evidence: f.evidence, Alternatives: f.alts,
			Fix: operator("", "find where the connection request stops: address, port, route, firewall")}
	}
	v := model.Verdict{Limiter: model.Undetermined, Where: model.Nowhere, Confidence: 0,
		Fix:   model.Fix{Kind: model.FixNone, Advice: "start the transfer (copy a large file) and watch again while it runs"},
		Notes: []string{"no connection moved data while it was watched"}}
	if e := uncounted(c); e != nil {
		v.Fix.Advice = "watch the other end"
		if c.Sender != nil && c.Receiver != nil {
			v.Fix.Advice = "watch a transfer between hosts of which one has a newer kernel"
		}
		v.Notes = []string{"the kernel of " + e.Host + " does not count what a connection moves (Linux before 4.1)"}
	}
	return v
}

// uncounted is an end whose kernel shows connections and not what they move; nil: there is none, or the
// other end counts.
func uncounted(c Case) (old *End) {
	for _, e := range []*End{c.Sender, c.Receiver} {
		switch {
		case e.shows(carries):
			return nil
		case old == nil && e.shows(func(x *model.Conn) bool { return older(x, infoAcked) }):
			old = e
		}
	}
	return old
}

// shows tells whether some connection to the peer is so at some time; false without an end.
func (e *End) shows(so func(*model.Conn) bool) bool {
	return e != nil && slices.ContainsFunc(e.Samples, func(s model.Sample) bool {
		return slices.ContainsFunc(s.Conns, func(x model.Conn) bool { return isPeer(e.Peer, x.Remote) && so(&x) })
	})
}

// neverConnected finds connection requests that were sent again and never answered.
func neverConnected(c Case) *finding {
	if c.Sender == nil {
		return nil
	}
	n, again := 0, 0
	var last *model.Conn
	for _, s := range c.Sender.Samples {
		for i := range s.Conns {
			x := &s.Conns[i]
			if x.State == tcpSynSent && isPeer(c.Sender.Peer, x.Remote) {
				n++
				again, last = max(again, int(x.Backoff), x.TotalRetrans), x
			}
		}
	}
	if again < 2 {
		return nil
	}
	f := &finding{id: model.Outage}
	f.say(c.Sender.Host, "syn_retransmits", float64(again), "segments", n, "the connection request from %s to %s was sent again %d times and never answered", last.Local.Addr(), last.Remote, again)
	f.or(model.ConnectionRefused, fmt.Sprintf("ping %s and connect to a port of it that is known to be open: if either answers, a firewall drops requests to port %d; if none does, the path or the host is down", last.Remote.Addr(), last.Remote.Port()))
	return f
}

// blind lists the views that were missing and would have told more.
func blind(c Case) []model.Blind {
	var out []model.Blind
	if c.Sender == nil {
		out = append(out, model.Blind{What: "the sending end", WouldShow: "whether it waits for data, buffer, window or CPU, and what the path loses", How: "log in at the sending end and watch both"})
	}
	if c.Receiver == nil {
		out = append(out, model.Blind{What: "the receiving end", WouldShow: "its receive queue, its buffer limit and whether the reader gets a CPU", How: "log in at the receiving end and watch both"})
	}
	for _, e := range []*End{c.Sender, c.Receiver} {
		if e != nil {
			out = append(out, blindAt(e)...)
		}
	}
	return out
}

// seeTasks is how to learn whether a program at an end runs short of CPU, where linerate saw no task that
// uses the connections. To root those of a mount are not shown either: they are the kernel's.
func (e *End) seeTasks(who string) string {
	switch {
	case e.byRoot():
		return "look with top whether " + cmp.Or(who, "the program that copies") + " fills a core: no process was seen that holds the connections, and those of a mount are the kernel's"
	case who == "":
		return "watch as root"
	}
	return "watch as root: " + who + "'s CPU time and run delay tell"
}

// byRoot tells that an end was watched as root.
func (e *End) byRoot() bool { return e != nil && e.Facts != nil && e.Facts.UID == 0 }

func blindAt(e *End) []model.Blind {
	var out []model.Blind
	if e.Facts == nil {
		out = append(out, model.Blind{What: "facts of " + e.Host, WouldShow: "interfaces, MTU and settings, so the ceiling and the exact fix", How: "look at the host again with privilege"})
	} else {
		out = append(out, e.Facts.CouldNotSee...)
	}
	tasks, cpus := 0, 0
	for _, s := range e.Samples {
		tasks += len(s.Tasks)
		cpus += len(s.CPUs)
	}
	if len(e.Samples) < 2 {
		return append(out, model.Blind{What: "counters of " + e.Host, WouldShow: "everything: only differences between samples mean something", How: fmt.Sprintf("watch for longer (%d samples were taken)", len(e.Samples))})
	}
	if unshown := unshownAt(e); len(unshown) > 0 {
		return append(out, unshown...)
	}
	if tasks == 0 {
		out = append(out, model.Blind{What: "the tasks that use the connections at " + e.Host, WouldShow: "whether they run short of CPU", How: e.seeTasks("")})
	}
	if cpus == 0 {
		out = append(out, model.Blind{What: "the cores of " + e.Host, WouldShow: "whether one is full", How: "let /proc/stat be read"})
	}
	return out
}
