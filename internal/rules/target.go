package rules

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// byTarget groups the iSCSI sessions that are logged in and have connections by target. Targets
// with one session are left out.
func byTarget(f *model.Facts) map[string][]model.ISCSISession {
	all := map[string][]model.ISCSISession{}
	for _, s := range f.ISCSI {
		if s.State == "LOGGED_IN" && s.Target != "" && len(s.Conns) > 0 {
			all[s.Target] = append(all[s.Target], s)
		}
	}
	for target, list := range all {
		if len(list) < 2 {
			delete(all, target)
		}
	}
	return all
}

// sorted orders findings that were collected from a map.
func sorted(list []model.Finding) []model.Finding {
	slices.SortFunc(list, func(a, b model.Finding) int { return strings.Compare(a.Observed, b.Observed) })
	return list
}

// nicWith is the interface that has this address, or nil.
func nicWith(f *model.Facts, a netip.Addr) *model.NIC {
	for i, n := range f.NICs {
		if slices.ContainsFunc(n.Addrs, func(p netip.Prefix) bool { return p.Addr() == a }) {
			return &f.NICs[i]
		}
	}
	return nil
}

// sessionRTT is the smallest round trip that connections of an iSCSI session saw; 0 if unknown.
func sessionRTT(f *model.Facts, name string) time.Duration {
	var least time.Duration
	for _, s := range f.ISCSI {
		for _, c := range s.Conns {
			if rtt, ok := c.MinRTT.Get(); ok && s.Name == name && (least == 0 || rtt < least) {
				least = rtt
			}
		}
	}
	return least
}

// sessionSpeed is the speed of the port that a session leaves by, or else of the fastest port or
// of the path; 0 if unknown.
func sessionSpeed(f *model.Facts, c Context, name string) unit.BitRate {
	for _, s := range f.ISCSI {
		for _, conn := range s.Conns {
			if n := nicWith(f, conn.Local); n != nil && s.Name == name {
				return n.Speed.Or(c.LineRate)
			}
		}
	}
	return max(fastest(f), c.LineRate)
}
