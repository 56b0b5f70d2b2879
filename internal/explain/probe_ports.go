package explain

import (
	"fmt"
	"math"
	"slices"
	"time"

	"linerate/internal/model"
)

// Links that are shared out by a hash of addresses and ports give each connection one member
// of a bundle for its life. New connections have new ports, and so are shared out anew.

const (
	// PortsTime is how long the probe runs, and PortsWarmup what of it is not judged.
	PortsTime   = 3 * time.Second
	PortsWarmup = time.Second
	// portsLeast connections at least are opened: among fewer there are seldom two groups.
	portsLeast = 8
	// portsChance: if a bad member would be missed by all connections of the probe less often
	// than this, a probe that meets none contradicts it.
	portsChance = 0.05
)

// Ports is the run of the probe with other ports.
type Ports struct {
	Streams int
	poor    float64 // share of the connections that were poor before
	before  int
}

// PlanPorts plans the probe for a verdict on connections of which only some are worse off.
func PlanPorts(c Case, v model.Verdict) (Ports, bool) {
	before, poor := len(look(c).flows), poorOf(v)
	if poor == 0 || before == 0 {
		return Ports{}, false
	}
	return Ports{Streams: max(before, portsLeast), poor: float64(poor) / float64(before), before: poor}, true
}

// Seen is the probe once it has run: c is what was seen of the new connections. If some of them are
// poor again, the verdict on the path stays, and it is their ports that decide. If none is,
// although chance hardly explains that, what made some poor happened only once.
func (p Ports) Seen(c Case) Trial {
	return func(v model.Verdict) model.Verdict { return p.after(v, c) }
}

func (p Ports) after(v model.Verdict, c Case) model.Verdict {
	n, again := len(look(c).flows), Judge(c)
	poor := poorOf(again)
	chance := math.Pow(1-p.poor, float64(n))
	e := finding{}
	switch {
	case n == 0:
		v.Notes = append(v.Notes, "the probe with other ports was not seen, and settles nothing")
	case poor > 0:
		e.say("", "poor_connections_again", float64(poor), "connections", len(c.Sender.Samples), "%d of %d new connections, from other ports, are worse off again: the fault lasts, and the ports decide which connections it hits", poor, n)
		v.Evidence = append(slices.Clone(v.Evidence), e.evidence...)
	case again.Limiter == v.Limiter:
		v.Notes = append(v.Notes, fmt.Sprintf("of %d new connections, from other ports, all fare alike (%s together): no sign of a bundle with one bad member", n, again.Measured))
	case chance >= portsChance:
		v.Notes = append(v.Notes, fmt.Sprintf("of %d new connections, from other ports, none is worse off; by chance a bad member of a bundle would meet none of them %s of the time, so this settles nothing", n, pct(chance)))
	default:
		v.Confidence = min(v.Confidence, refutedCap)
		v.Notes = append(v.Notes, fmt.Sprintf("of %d new connections, from other ports, none is worse off (%s together): what held %d of the first ones back was there once, and may be over", n, again.Measured, p.before))
	}
	return v
}

// poorOf is how many connections a verdict found worse off than the others; 0: none.
func poorOf(v model.Verdict) int {
	for _, e := range v.Evidence {
		if e.Metric == poorConnections {
			return int(e.Value)
		}
	}
	return 0
}
