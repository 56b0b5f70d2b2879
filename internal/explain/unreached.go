package explain

import (
	"fmt"
	"net/netip"

	"linerate/internal/model"
)

// Confidence in what keeps a connection from coming up.
const (
	// sureOfAnswer: an answer came, or a connection the other way came up.
	sureOfAnswer = 0.9
	// sureOfTable: a route may be in a table that was not read.
	sureOfTable = 0.75
	// sureOfSilence: nothing tells a path that is down from a firewall that
	// drops.
	sureOfSilence = 0.5
)

// judgeUnreached is the verdict on a path whose connection did not come up. A refusal
// never counts as a path that is down. Silence leaves open whether a firewall drops or
// a cable is out: the verdict then says so, and names the probe that tells.
func (v *views) judgeUnreached() model.Verdict {
	f := unreached(v.Case)
	return model.Verdict{
		Limiter: f.id, Where: limiter(f.id).Where, Host: f.host, Confidence: f.cap,
		Evidence: f.evidence, Alternatives: f.alts, Notes: f.notes, Fix: operator(f.host, f.advice),
		CouldNotSee: []model.Blind{{What: "a transfer between the two ends", WouldShow: "everything beyond that no connection comes up", How: "let the connection through, then run this again"}},
	}
}

// unreached finds what keeps the connection from coming up.
func unreached(c Case) *finding {
	u, both := *c.Unreached, c.OtherWay != nil && c.OtherWay.Up
	f := &finding{id: model.Outage, cap: sureOfSilence}
	from, to := c.Sender.host(), c.Receiver.host()
	if f.ownFault(c, u) {
		f.unreachedEvidence(u, from)
		return f
	}
	f.unreachedEvidence(u, from)
	switch {
	case u.How == model.Refused:
		f.id, f.host, f.cap = model.ConnectionRefused, to, sureOfAnswer
		f.advice = fmt.Sprintf("linerate listens there, so a firewall on the way or on %s answers for it, or %s is not an address of %s: let TCP from %s to that port range through while it runs (net.ipv4.ip_local_port_range), or watch a transfer that is allowed: linerate explain MOUNT", to, u.To.Addr(), to, u.From)
	case u.How == model.Forbidden:
		f.id, f.host, f.cap = model.ConnectionRefused, from, sureOfAnswer
		f.advice = fmt.Sprintf("%s itself keeps the request in: look at its firewall's output rules and at prohibit routes (ip route get %s)", from, u.To.Addr())
	case u.How == model.NoRoute:
		f.host, f.cap = from, sureOfTable
		f.advice = fmt.Sprintf("give %s a route to %s (ip route get %s shows what it has), or name the address that the data takes: --via", from, u.To.Addr(), u.To.Addr())
	case both:
		f.id, f.host, f.cap = model.ConnectionRefused, to, sureOfAnswer
		f.advice = fmt.Sprintf("packets pass both ways, so a firewall on the way to %s or on it drops requests to this port: let TCP from %s through while linerate runs, or watch a transfer that is allowed: linerate explain MOUNT", to, u.From)
	default:
		f.silence(c, u)
	}
	if both {
		f.say(to, "reverse_connects", 1, "connections", 1, "a connection the other way, from %s to %s, comes up", to, from)
	} else if c.OtherWay != nil {
		f.say(to, "reverse_connects", 0, "connections", 1, "a connection the other way, from %s to %s, does not come up either", to, from)
	}
	return f
}

// silence is a path from which nothing came back.
func (f *finding) silence(c Case, u model.Unreached) {
	to := c.Receiver.host()
	f.advice = fmt.Sprintf("see where packets stop: link lights and interface states of both ends, then ping and traceroute from %s to %s; a firewall that drops looks the same", u.From, u.To.Addr())
	probe := fmt.Sprintf("from %s connect to a port of %s that is known to be open (the storage's own, e.g. nc -vz %s 2049) and ping it: if either answers, a firewall drops linerate's port; if none does, the path is down", c.Sender.host(), to, u.To.Addr())
	if u.How == model.HostUnreachable {
		f.cap = sureOfTable
		f.advice = fmt.Sprintf("see whether %s is up and in that network: its cable, its VLAN and its address; on the same subnet ip neigh show %s tells whether it answers, else ask the router", to, u.To.Addr())
		probe = "look at ip neigh on the sender: a FAILED entry is a host or a VLAN that does not answer, a reachable one means that a firewall or router rejects by ICMP"
	}
	f.or(model.ConnectionRefused, probe)
}

// unreachedEvidence words what came instead of a connection.
func (f *finding) unreachedEvidence(u model.Unreached, host string) {
	to := u.To.String()
	if u.To.Port() == 0 {
		to = u.To.Addr().String()
	}
	way := "to " + to
	if u.From.IsValid() {
		way = "from " + u.From.String() + " to " + to
	}
	text := map[model.Refusal]string{
		model.Refused:         "the connection " + way + " is refused: something answers, so the path carries packets",
		model.Forbidden:       "the connection " + way + " is forbidden by the sending host itself",
		model.NoRoute:         "there is no route " + way,
		model.HostUnreachable: "the connection " + way + " ends with \"host unreachable\"",
		model.Unanswered:      "no answer to the connection requests " + way,
	}[u.How]
	if u.How == model.Unanswered && u.Waited > 0 {
		text += " within " + seconds(u.Waited.Seconds())
	}
	f.say(host, "connection_"+metricOf(u.How), u.Waited.Seconds(), "s", 1, "%s", text)
}

func metricOf(r model.Refusal) string {
	return map[model.Refusal]string{model.Refused: "refused", model.Forbidden: "forbidden", model.NoRoute: "no_route",
		model.HostUnreachable: "host_unreachable", model.Unanswered: "unanswered"}[r]
}

// ownFault looks whether the facts alone explain it: an interface that is down,
// or an address that the other end does not have.
func (f *finding) ownFault(c Case, u model.Unreached) bool {
	for _, e := range []struct {
		end  *End
		addr netip.Addr
	}{{c.Receiver, u.To.Addr()}, {c.Sender, u.From}} {
		if e.end == nil || e.end.Facts == nil || !e.addr.IsValid() {
			continue
		}
		nic := carrierOf(e.end, e.addr)
		switch {
		case nic == nil:
			f.host, f.cap = e.end.Host, sureOfTable
			f.say(f.host, "address_absent", 0, "addresses", 1, "no interface of %s has the address %s", f.host, e.addr)
			f.advice = fmt.Sprintf("%s is not %s's: a name that leads elsewhere, address translation on the way, or an address that has moved; name the data address with --via", e.addr, f.host)
			if u.How == model.Refused {
				f.id = model.ConnectionRefused
			}
			return true
		case !nic.Up && u.How != model.Refused && u.How != model.Forbidden: // an answer came over it, or the request never got there
			f.host, f.cap = e.end.Host, sureOfAnswer
			f.say(f.host, "interface_down", 0, "interfaces", 1, "%s of %s, which has the address %s, is down", nic.Name, f.host, e.addr)
			f.advice = fmt.Sprintf("bring up %s of %s: plug in or replace its cable, or ip link set %s up", nic.Name, f.host, nic.Name)
			return true
		}
	}
	return false
}

// carrierOf is the interface that has addr; nil: none has.
func carrierOf(e *End, addr netip.Addr) *model.NIC {
	for i := range e.Facts.NICs {
		for _, p := range e.Facts.NICs[i].Addrs {
			if p.Addr().Unmap() == addr.Unmap() {
				return &e.Facts.NICs[i]
			}
		}
	}
	return nil
}
