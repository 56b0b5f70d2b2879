package explain

import (
	"net/netip"
	"slices"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

type bitRate = unit.BitRate

// withoutTasks is the case as an unprivileged user sees it: no schedstat of
// others' tasks, no cgroup.
func withoutTasks(c Case) Case {
	for _, e := range []**End{&c.Sender, &c.Receiver} {
		n := **e
		n.Samples = slices.Clone(n.Samples)
		for i := range n.Samples {
			n.Samples[i].Tasks = nil
			n.Samples[i].Throttled = model.Fact[time.Duration]{}
		}
		*e = &n
	}
	return c
}

// cut keeps the samples of both ends taken in [from, to).
func cut(c Case, from, to time.Duration) Case {
	for _, e := range []**End{&c.Sender, &c.Receiver} {
		if *e == nil {
			continue
		}
		n := **e
		n.Samples = slices.DeleteFunc(slices.Clone(n.Samples), func(s model.Sample) bool { return s.At < from || s.At >= to })
		*e = &n
	}
	return c
}

// withConns is the end with its connections changed in every sample.
func withConns(e *End, change func(*model.Conn)) *End {
	n := *e
	n.Samples = slices.Clone(n.Samples)
	for i := range n.Samples {
		conns := slices.Clone(n.Samples[i].Conns)
		for k := range conns {
			change(&conns[k])
		}
		n.Samples[i].Conns = conns
	}
	return &n
}

func addrPort(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
