package explain

import (
	"net/netip"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// End is what was seen of one end of the path. A nil *End was not seen at all.
type End struct {
	Host  string       `json:"host"`
	Facts *model.Facts `json:"facts"` // nil: facts were not to be had
	// Samples in the order they were taken, on the controller's clock.
	Samples []model.Sample `json:"samples"`
	// Peer is the other end's data address; when valid, connections to
	// other addresses are left out.
	Peer netip.Addr `json:"peer"`
}

// Case is everything a verdict may know.
type Case struct {
	Sender   *End `json:"sender"`
	Receiver *End `json:"receiver"`
	// LineRate as the operator or the topology states it; it beats the
	// NICs' claim. Absent: the slowest physical NIC that carries the data.
	LineRate model.Fact[unit.BitRate] `json:"line_rate"`
	// Goodput as the receiving application counted it. Absent: computed
	// from the connections' counters.
	Goodput model.Fact[unit.BitRate] `json:"goodput"`
	// Passive: the traffic was watched, not made by us.
	Passive bool `json:"passive"`
	// Unreached is what came instead of a connection; nil: one came up, or none
	// was tried. OtherWay is then the counter-check.
	Unreached *model.Unreached `json:"unreached,omitempty"`
	OtherWay  *OtherWay        `json:"other_way,omitempty"`

	// What follows is known besides the samples; a recording does not have it.

	// OneEnd: nobody could log in to the other end; see narrow.
	OneEnd bool `json:"-"`
	// Trials are the probes that followed the first verdict, in order.
	Trials []Trial `json:"-"`
	// Way is what probes found of the way from the sender to the receiver before any load;
	// nil: it was not probed.
	Way *model.Crossing `json:"-"`
	// Rungs are the goodputs of the ladder's rungs that were measured besides, by name;
	// the run that is judged is one of them, or none.
	Rungs map[string]unit.BitRate `json:"-"`
	// Ground of a mount that was read, from which a fix may be computed; or nil.
	Ground *Ground `json:"-"`
	// Lost is what an emulated path says that it lost of its own accord meanwhile.
	Lost []string `json:"-"`
	// Notes are the remarks on how the samples were taken.
	Notes []string `json:"-"`
	// Findings of the rules on the hosts.
	Findings []model.Finding `json:"-"`
	// Protocol by which storage was read or written, as published results name
	// it; empty where none was.
	Protocol string `json:"-"`

	// without are limiters that the engine is not to know; see JudgeWithout.
	without []model.LimiterID
}

// Trial is a probe that was made: it turns the verdict before it into the one after.
type Trial func(model.Verdict) model.Verdict

// OtherWay is how a connection from the receiver to the sender fared.
type OtherWay struct {
	Up bool `json:"up"` // it came up: packets pass both ways
}

// Watched makes the case of a single end from whose samples it is not known
// yet which way the data goes: the end is the sender when its connections to
// the peer had more acknowledged than they received.
func Watched(e *End, lineRate model.Fact[unit.BitRate]) Case {
	c := Case{LineRate: lineRate, Passive: true}
	sent, received := moved(e)
	if sent+received == 0 { // of connections too short to be watched the interface tells
		sent, received = passed(e)
	}
	if sent >= received {
		c.Sender = e
	} else {
		c.Receiver = e
	}
	return c
}

// passed is how many bytes left and came in at the interface that carried most.
func passed(e *End) (sent, received int64) {
	if len(e.Samples) < 2 {
		return 0, 0
	}
	a, b := e.Samples[0], e.Samples[len(e.Samples)-1]
	for _, n := range b.NICs {
		if n.Name == "lo" {
			continue
		}
		out := nicGrowth(a, b, n.Name, func(c model.NICCount) int64 { return c.TxBytes })
		in := nicGrowth(a, b, n.Name, func(c model.NICCount) int64 { return c.RxBytes })
		if out+in > sent+received {
			sent, received = out, in
		}
	}
	return sent, received
}

// moved is how many bytes the end's connections sent (and had acknowledged)
// and received while they were watched.
func moved(e *End) (sent, received int64) {
	for _, t := range tracks(e) {
		first, last := t.obs[0].c, t.obs[len(t.obs)-1].c
		sent += last.BytesAcked - first.BytesAcked
		received += last.BytesReceived - first.BytesReceived
	}
	return sent, received
}

// host is the end's name, or "" for an end that was not seen.
func (e *End) host() string {
	if e == nil {
		return ""
	}
	return e.Host
}

// setting is a setting of the end as read, e.g. "linux.sysctl.net.ipv4.tcp_rmem".
func (e *End) setting(id string) (string, bool) {
	if e == nil || e.Facts == nil {
		return "", false
	}
	return e.Facts.Settings[id].Get()
}

// nic is the interface that carries addr: the one that has it, or else the
// only one that is up. nil when it cannot be told.
func (e *End) nic(addr netip.Addr) *model.NIC {
	if e == nil || e.Facts == nil {
		return nil
	}
	if n := carrierOf(e, addr); n != nil {
		return n
	}
	var up []*model.NIC
	for i := range e.Facts.NICs {
		if n := &e.Facts.NICs[i]; n.Up && n.Name != "lo" {
			up = append(up, n)
		}
	}
	if len(up) == 1 {
		return up[0]
	}
	return nil
}

// oneKernel tells whether both ends report the same boot, so that per-core and
// softnet counters are those of one machine and cannot be told apart.
func (c Case) oneKernel() bool {
	return c.Sender != nil && c.Receiver != nil && c.Sender.Facts != nil && c.Receiver.Facts != nil &&
		c.Sender.Facts.BootID != "" && c.Sender.Facts.BootID == c.Receiver.Facts.BootID
}
